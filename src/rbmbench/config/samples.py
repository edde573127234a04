"""What the files under ``config/`` may hold of samplers, and of figures of their samples."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from rbmbench.base.settings import Count, SamplerGrid, Settings
from rbmbench.config.parts import Name, Names, Panel

if TYPE_CHECKING:
    from rbmbench.config.paper import Paper

__all__ = ["IslCurves", "SampleSheets", "SamplerEntry", "SamplesPanel"]


class SamplerEntry(Settings):
    """A sampler as a paper uses it: with its options, and the values of some that are tried."""

    label: str = Field(description="how figures name it")
    sampler: str = Field(description="name of the sampler: a module of rbmbench.samplers")
    options: dict[str, Any] = Field(default={}, description="options of the sampler")
    grid: dict[str, Annotated[tuple[Any, ...], Field(min_length=1)]] = Field(
        default={}, description="by option: values that are tried in all combinations, the best by the validation rows"
    )

    @model_validator(mode="after")
    def _grid_can_be_tried(self) -> Self:
        self.grid_of_settings  # noqa: B018
        return self

    @property
    def grid_of_settings(self) -> SamplerGrid:
        """The sampler and its settings, without the label."""
        return SamplerGrid(name=self.sampler, options=self.options, grid=self.grid)


class SamplesPanel(Panel):
    """Trained models, and the samplers that streams of samples are drawn from them with."""

    algorithm: Name = Field(description="key of the algorithm that trains the models")
    samplers: Names | None = Field(default=None, description="keys of the samplers; null: all of the paper's")
    samples: Count = Field(description="samples of every stream")
    points: Count = Field(default=60, description="numbers of samples at which the likelihood is shown")
    rows: Count | None = Field(default=None, description="validation rows and test rows at most; null: all")
    shown: Count = Field(default=400, description="first samples of each stream that are kept to be looked at")


class IslCurves(Settings):
    """A figure of indirect sampling likelihoods against the number of samples, one curve a sampler."""

    kind: Literal["isl_curves"] = Field(description="kind of the figure, and of its notebook template")
    title: str = Field(description="title of the figure")
    panels: Annotated[dict[Name, SamplesPanel], Field(min_length=1)] = Field(description="the panels, by their letter")

    def names(self, paper: "Paper") -> Iterator[str]:
        """Yield the names of the curves: PANEL.SAMPLER."""
        for letter, panel in self.panels.items():
            yield from (f"{letter}.{sampler}" for sampler in panel.samplers or paper.samplers)


class SampleSheets(Settings):
    """A figure of consecutive samples as images, one sheet a sampler, of a panel of another figure."""

    kind: Literal["sample_sheets"] = Field(description="kind of the figure, and of its notebook template")
    title: str = Field(description="title of the figure")
    panel: Annotated[str, Field(pattern=r"^fig[a-z0-9_]*\.[a-z][a-z0-9_]*$")] = Field(
        description="whose samples are shown, as FIGURE.PANEL"
    )
    samplers: Names | None = Field(default=None, description="keys of the samplers, a sheet each; null: the panel's")
    columns: Count = Field(default=20, description="images in a row of a sheet")
    lines: Count = Field(default=10, description="rows of images of a sheet")

    def names(self, paper: "Paper") -> Iterator[str]:
        """Yield nothing: claims are made on the samples' likelihoods."""
        yield from ()
