# SPDX-License-Identifier: BSD-3-Clause
"""Figures of what models look like along training: filters and samples as images, by algorithm and iteration."""

from __future__ import annotations

import math
from collections.abc import Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pandas as pd
from pydantic import Field

from rbmbench.base.settings import Seed
from rbmbench.config.checks import Checks
from rbmbench.config.paper import KINDS, Paper
from rbmbench.config.parts import Name, Names, Panel
from rbmbench.io.layout import META, MODEL
from rbmbench.io.results import read_meta, read_snapshots
from rbmbench.likelihood.exact import LARGEST_ENUMERABLE_LAYER, is_enumerable
from rbmbench.model.rbm import RBM
from rbmbench.planning.chart import Chart, Image
from rbmbench.planning.jobs import Output
from rbmbench.planning.kinds import Kind
from rbmbench.planning.runs import Planner
from rbmbench.planning.specs import FigureSpec, RunFolder, Trained
from rbmbench.reporting.frames import data_of
from rbmbench.reporting.words import count, listed, reductions, stand_ins, variant_lines, variant_notes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rbmbench.reporting.mosaics import Snapshot

MOST_ALGORITHMS, MOST_SNAPSHOTS, MOST_IMAGES = 8, 12, 36
"""More do not fit a printed page."""
MOST_INCHES = 8.6
"""Height of all mosaics on a page."""
LETTERS = 10
"""Of a line beside a mosaic."""
SWEEPS, TEMPERATURES = 100, 10
"""Of the chains that samples are drawn by."""
LINE = 100
"""Letters of a line of a title."""


class LearnedPanel(Panel):
    """What is trained: a single trial."""

    trials: Literal[1] = Field(default=1, description="one: the models of a single trial are shown")


@KINDS.register
class LearnedImages(Kind):
    """A figure of filters and samples along training: two rows of mosaics per algorithm, a column per evaluation."""

    kind: Literal["learned_images"] = Field(description="kind of the figure, and of its notebook template")
    algorithms: Annotated[Names, Field(max_length=MOST_ALGORITHMS)] = Field(
        description="keys of the algorithms, from top to bottom"
    )
    images: Annotated[int, Field(ge=1, le=MOST_IMAGES)] = Field(
        default=16, description="filters of the first hidden units, and samples, of each model"
    )
    panels: Annotated[dict[Name, LearnedPanel], Field(min_length=1, max_length=1)] = Field(
        description="one panel, by its letter; each evaluation is a column"
    )

    def algorithms_of(self, paper: Paper, panel: LearnedPanel) -> tuple[str, ...]:
        """Return the keys of the algorithms."""
        return self.algorithms

    def check(self, checks: Checks, location: tuple) -> None:
        """Refuse unknown algorithms and data, data that are no images, and runs that keep no models or too many."""
        checks.check_algorithms(self.algorithms, (*location, "algorithms"))
        ((letter, panel),) = self.panels.items()
        place = (*location, "panels", letter)
        checks.check_panel(panel, self.algorithms, place)
        visible = checks.paper.data[panel.data].visible
        if math.isqrt(visible) ** 2 != visible:
            message = f"found {panel.data!r}, of {visible} visible units; should be square images"
            raise checks.refuse((*place, "data"), message)
        if is_enumerable(visible, panel.hidden):
            least = LARGEST_ENUMERABLE_LAYER + 1
            message = f"found {panel.hidden}; runs keep their models along training only where log Z is annealed"
            raise checks.refuse((*place, "hidden"), f"{message}; allowed: at least {least} visible and hidden units")
        every, further = (
            getattr(panel, name) or getattr(checks.paper.defaults, name) for name in ("evaluate_every", "evaluate_at")
        )
        columns = 1 + -(-panel.iterations // every) + sum(at < panel.iterations and at % every > 0 for at in further)
        if columns > MOST_SNAPSHOTS:
            message = f"found {every}, which gives {columns} columns; allowed: at most {MOST_SNAPSHOTS} evaluations"
            raise checks.refuse((*place, "evaluate_every"), message)
        if self.images > panel.hidden:
            message = f"found {self.images}; allowed: at most the {panel.hidden} hidden units"
            raise checks.refuse((*location, "images"), message)

    def plan(self, planner: Planner, key: str) -> Output:
        """Return the figure, its runs added to the plan."""
        ((letter, panel),) = self.panels.items()
        runs = planner.runs(panel, self.algorithms)
        folders = {name: planner.plan.folder(run) for name, run in runs.items()}
        spec = LearnedImagesSpec(
            **planner.heading(key, self),
            images=self.images,
            seed=planner.seed("images", panel.data, panel.hidden),
            panels=[LearnedPanelSpec(**planner.trained(panel), name=letter, runs=planner.labelled(folders))],
        )
        parts = {(letter, name): (run,) for name, run in runs.items()}
        return Output(spec, tuple(dict.fromkeys(run.id for run in runs.values())), parts=parts)


class LearnedPanelSpec(Trained):
    """What was trained, and the folders of the runs."""

    name: str
    runs: tuple[RunFolder, ...]


class LearnedImagesSpec(FigureSpec):
    """A figure of filters and samples along training."""

    kind: Literal["learned_images"]
    images: int
    seed: Seed
    panels: tuple[LearnedPanelSpec]

    def folders(self) -> list[str]:
        """Return the folders of the runs."""
        return list(dict.fromkeys(run.folder for run in self.panels[0].runs))

    def files(self) -> list[str]:
        """Return model and meta of each run."""
        return [f"{folder}/{name}" for folder in self.folders() for name in (MODEL, META)]

    def read(self) -> pd.DataFrame:
        """Return the `numbers`: filters, and samples that are drawn here, of the snapshots of all runs."""
        from rbmbench.reporting.mosaics import rows_of

        (panel,) = self.panels
        parts = []
        for run in panel.runs:
            data, found = data_of(read_meta(run.folder), run.folder), read_snapshots(run.folder)
            models = RBM(*(found[f"snapshot_{name}"][:, 0] for name in ("W", "b", "c")))
            samples = models.sample(self.images, self.seed, sweeps=SWEEPS, temperatures=TEMPERATURES)
            named = {"panel": panel.name, "data_title": data["title"], "stand_in": data["stand_in"]}
            named |= {"algorithm": run.algorithm, "label": run.label}
            for place, iteration in enumerate(found["snapshot_iterations"].tolist()):
                images = rows_of(models.W[place][:, : self.images], samples[place])
                parts.append(pd.DataFrame(named | {"iteration": iteration}, index=images.index).join(images))
        return pd.concat(parts, ignore_index=True)

    def numbers(self, found: pd.DataFrame) -> pd.DataFrame:
        """Return a row per image: panel, data_title, stand_in, and `rbmbench.reporting.mosaics.COLUMNS`."""
        return found

    def chart(self, found: pd.DataFrame) -> Chart:
        """Return filters and samples of every model."""
        return self.chart_of(self.numbers(found))

    def chart_of(self, numbers: pd.DataFrame) -> Chart:
        """Return the chart, from the numbers."""
        from rbmbench.reporting.images import address
        from rbmbench.reporting.mosaics import FILTER, SAMPLE, picture_of, snapshots

        images = []
        for model in snapshots(numbers):
            named = {"key": model.algorithm, "label": model.label, "iteration": model.iteration}
            words = f"filters, weights up to ±{float(f'{model.largest:.2g}')}"
            filters, samples = picture_of(model.filters, FILTER), picture_of(model.samples, SAMPLE)
            images.append(Image(**named, name="filters", words=words, address=address(filters)))
            images.append(Image(**named, name="samples", words="samples", address=address(samples)))
        return Chart(images=tuple(images))

    def picture(self, numbers: pd.DataFrame, facts: Mapping[str, Any], sheet: Any = None) -> Figure:
        """Return the figure: per algorithm a row of filters and a row of samples; iterations from left to right."""
        from rbmbench.reporting.mosaics import snapshots
        from rbmbench.reporting.style import PAGE, page, theme

        sheet, shown = sheet or PAGE, _by_algorithm(snapshots(numbers))
        columns = max(map(len, shown.values()))
        with theme():
            drawn = page(1, sheet)
            side = min((sheet.width - 0.5 * sheet.share) / columns, MOST_INCHES * sheet.share / (2 * len(shown)))
            drawn.set_figheight(2 * side * len(shown) + (0.9 if sheet.titled else 0.3))
            drawn.get_layout_engine().set(h_pad=0.015, w_pad=0.015, hspace=0, wspace=0)
            axes = drawn.subplots(2 * len(shown), columns, squeeze=False)
            larger = max(sheet.share, 0.6)
            for column, model in enumerate(next(iter(shown.values()))):
                named = f"{'iteration ' * (column == 0)}{count(model.iteration)}"
                axes[0, column].set_title(named, fontsize=8 * larger)
            for place, (label, models) in enumerate(shown.items()):
                _draw(axes[2 * place : 2 * place + 2], label, models, 7.5 * larger)
            for ax in axes.ravel():
                ax.set(xticks=[], yticks=[])
                for spine in ax.spines.values():
                    spine.set_visible(False)
            if sheet.titled:
                below = "; ".join([self.which, *self._differences(numbers)])
                drawn.suptitle("\n".join([self.title, *wrap(below, LINE), *variant_lines(self)]))
        return drawn

    def words(self, numbers: pd.DataFrame, facts: Mapping[str, Any]) -> str:
        """Return the caption."""
        from rbmbench.reporting.mosaics import snapshots

        (panel,) = self.panels
        models = snapshots(numbers)
        iterations = listed([count(at) for at in dict.fromkeys(model.iteration for model in models)])
        largest = max(model.largest for model in models)
        return (
            f"RBMs of {count(panel.hidden)} hidden units after {iterations} iterations of training on"
            f" {numbers['data_title'].iloc[0]} at rate {panel.rate:g}, one trial, from the same initial parameters and"
            f" with the same mini-batches. Filters: weights of the first {self.images} hidden units, red above 0, blue"
            f" below, each by its own largest weight (at most {largest:#.2g}). Samples: {self.images} states of the"
            f" visible units, each from {TEMPERATURES} tempered chains of its own, after {SWEEPS} sweeps from"
            " uniform states; the random numbers are the same for all models of an iteration."
            + "".join(f" {phrase[:1].upper()}{phrase[1:]}." for phrase in self._differences(numbers))
            + "".join(f" {sentence}" for sentence in variant_notes(self))
        )

    def _differences(self, numbers: pd.DataFrame) -> list[str]:
        """Return what is below the published budgets, and stand-in data, in phrases."""
        less = reductions(self.differences)
        return [*[listed(less)] * bool(less), *(f"stand-in data: {phrase}" for phrase in stand_ins(numbers))]


def _draw(axes: Any, label: str, models: list[Snapshot], fontsize: float) -> None:
    """Draw the filters (first row of axes) and samples of one algorithm, and name them."""
    from rbmbench.reporting.mosaics import FILTER, SAMPLE, picture_of

    for column, model in enumerate(models):
        axes[0, column].imshow(picture_of(model.filters, FILTER), interpolation="none")
        axes[1, column].imshow(picture_of(model.samples, SAMPLE), interpolation="none")
    for ax, what in zip(axes[:, 0], ("filters", "samples"), strict=True):
        words = "\n".join([*wrap(label, LETTERS, break_on_hyphens=False), what])
        ax.set_ylabel(words, fontsize=fontsize)


def _by_algorithm(models: list[Snapshot]) -> dict[str, list[Snapshot]]:
    """Return the models of each algorithm, by its label."""
    found: dict[str, list[Snapshot]] = {}
    for model in models:
        found.setdefault(model.label, []).append(model)
    return found


LearnedImages.SPEC = LearnedImagesSpec
