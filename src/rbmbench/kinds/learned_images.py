# SPDX-License-Identifier: BSD-3-Clause
"""Figures of filters and samples of models during training as images, by algorithm and iteration."""

import math
from textwrap import wrap
from typing import Annotated, Literal

import pandas as pd
from pydantic import Field

from rbmbench.base.settings import Seed
from rbmbench.config.checks import Checks
from rbmbench.config.paper import KINDS
from rbmbench.config.parts import Name, Names, Panel
from rbmbench.io.layout import META, MODEL
from rbmbench.io.results import read_meta, read_snapshots
from rbmbench.likelihood.exact import LARGEST_ENUMERABLE_LAYER, is_enumerable
from rbmbench.model.rbm import RBM
from rbmbench.planning.chart import Chart, Image, Layout
from rbmbench.planning.jobs import Output
from rbmbench.planning.kinds import Kind
from rbmbench.planning.runs import Planner
from rbmbench.planning.specs import FigureSpec, TrainedPanel
from rbmbench.reporting import charts
from rbmbench.reporting.frames import data_of
from rbmbench.reporting.words import count, cuts, listed, stand_ins, variant_lines, variant_notes

MOST_ALGORITHMS, MOST_SNAPSHOTS, MOST_IMAGES = 8, 12, 36
"""The most that fit a printed page."""
SWEEPS, TEMPERATURES = 100, 10
"""Sweeps and temperatures of the chains that draw samples."""


class LearnedPanel(Panel):
    """Settings of training of a single trial."""

    trials: Literal[1] = Field(default=1, description="one: the models of a single trial are shown")


class LearnedImagesSpec(FigureSpec):
    """A figure of filters and samples along training."""

    images: int
    seed: Seed
    panels: tuple[TrainedPanel]

    def sources(self) -> dict[str, tuple[str, ...]]:
        return {run.folder: (MODEL, META) for run in self.panels[0].runs}

    def read(self) -> pd.DataFrame:
        """Return filters and samples of the snapshots of all runs; samples are drawn.

        A row per image: panel, data_title, stand_in, and `rbmbench.reporting.mosaics.COLUMNS`.
        """
        from rbmbench.reporting.mosaics import rows_of

        (panel,) = self.panels
        parts = []
        for run in panel.runs:
            data, arrays = data_of(read_meta(run.folder), run.folder), read_snapshots(run.folder)
            models = RBM(*(arrays[f"snapshot_{name}"][:, 0] for name in ("W", "b", "c")))
            samples = models.sample(self.images, self.seed, sweeps=SWEEPS, temperatures=TEMPERATURES)
            fields = {"panel": panel.name, "data_title": data["title"], "stand_in": data["stand_in"]}
            fields |= {"algorithm": run.algorithm, "label": run.label}
            for place, iteration in enumerate(arrays["snapshot_iterations"].tolist()):
                images = rows_of(models.W[place][:, : self.images], samples[place])
                parts.append(pd.DataFrame(fields | {"iteration": iteration}, index=images.index).join(images))
        return pd.concat(parts, ignore_index=True)

    def numbers(self, results: pd.DataFrame) -> pd.DataFrame:
        return results

    def chart(self, results: pd.DataFrame) -> Chart:
        from rbmbench.reporting.mosaics import FILTER, SAMPLE, address, images_of, picture_of

        images = []
        for (algorithm, label, iteration), rows in results.groupby(["algorithm", "label", "iteration"], sort=False):
            fields = {"key": algorithm, "label": label, "iteration": iteration}
            largest = float(f"{rows['largest'].max():.2g}")
            for kind, words in ((FILTER, f"filters, weights up to ±{largest}"), (SAMPLE, "samples")):
                picture = address(picture_of(images_of(rows, kind), kind))
                images.append(Image(**fields, name=f"{kind}s", words=words, address=picture))
        lines = wrap("; ".join([self.which, *self._phrases(results)]), charts.LETTERS)
        heading = (self.title, *lines, *variant_lines(self))
        return Chart(heading=heading, images=tuple(images), layout=Layout(head=(0.9, 0.3)))

    def caption(self, results: pd.DataFrame) -> str:
        (panel,) = self.panels
        iterations = listed([count(at) for at in results["iteration"].unique()])
        rates = f"rate{'s' * (len(panel.rate_words) > 1)} {listed(panel.rate_words)}"
        return (
            f"RBMs of {count(panel.hidden)} hidden units after {iterations} iterations of training on"
            f" {results['data_title'].iloc[0]} at {rates}, one trial, from the same initial parameters and"
            f" with the same mini-batches. Filters: weights of the first {self.images} hidden units, red above 0, blue"
            f" below, each by its own largest weight (at most {results['largest'].max():#.2g}). Samples: {self.images}"
            f" states of the visible units, each from {TEMPERATURES} tempered chains of its own, after {SWEEPS} sweeps"
            " from uniform states; the random numbers are the same for all models of an iteration."
            + "".join(f" {phrase[:1].upper()}{phrase[1:]}." for phrase in self._phrases(results))
            + "".join(f" {sentence}" for sentence in variant_notes(self))
        )

    def _phrases(self, results: pd.DataFrame) -> list[str]:
        return [*filter(None, [listed(cuts(self))]), *(f"stand-in data: {phrase}" for phrase in stand_ins(results))]


@KINDS.register
class LearnedImages(Kind):
    """A figure of filters and samples along training: two rows of mosaics per algorithm, a column per evaluation."""

    algorithms: Annotated[Names, Field(max_length=MOST_ALGORITHMS)] = Field(
        description="keys of the algorithms, from top to bottom"
    )
    images: Annotated[int, Field(ge=1, le=MOST_IMAGES)] = Field(
        default=16, description="filters of the first hidden units, and samples, of each model"
    )
    panels: Annotated[dict[Name, LearnedPanel], Field(min_length=1, max_length=1)] = Field(
        description="one panel, by its letter; each evaluation is a column"
    )

    SPEC = LearnedImagesSpec

    def check(self, checks: Checks, location: tuple) -> None:
        checks.check_algorithms(self.algorithms, (*location, "algorithms"))
        checks.check_one_stage(self.algorithms, (*location, "algorithms"))  # rows have images of the same iterations
        ((letter, panel),) = self.panels.items()
        place = (*location, "panels", letter)
        checks.check_panel(panel, self.algorithms, place)
        visible = checks.paper.data[panel.data].visible
        if math.isqrt(visible) ** 2 != visible:
            message = f"must be square images, got {panel.data!r}, of {visible} visible units"
            raise checks.refuse((*place, "data"), message)
        if is_enumerable(visible, panel.hidden):
            least = LARGEST_ENUMERABLE_LAYER + 1
            message = f"must be at least {least}, as the visible units, for log Z to be annealed, got {panel.hidden}"
            raise checks.refuse((*place, "hidden"), message)
        gap, further = panel.evaluations(checks.paper.defaults)
        columns = 1 + -(-panel.iterations // gap) + sum(at < panel.iterations and at % gap > 0 for at in further)
        if columns > MOST_SNAPSHOTS:
            message = f"must be at most {MOST_SNAPSHOTS} evaluations, got {gap}, which gives {columns} columns"
            raise checks.refuse((*place, "evaluate_every"), message)
        if self.images > panel.hidden:
            message = f"must be at most the {panel.hidden} hidden units, got {self.images}"
            raise checks.refuse((*location, "images"), message)

    def plan(self, planner: Planner, key: str) -> Output:
        ((letter, panel),) = self.panels.items()
        runs = planner.runs(panel, self.algorithms)
        folders = {name: planner.plan.folder(run) for name, run in runs.items()}
        spec = LearnedImagesSpec(
            **planner.heading(key, self),
            images=self.images,
            seed=planner.seed("images", panel.data, panel.hidden),
            panels=[
                TrainedPanel(
                    **planner.trained(panel),
                    name=letter,
                    runs=planner.labelled(folders),
                    rates=planner.rates(runs),
                )
            ],
        )
        return planner.output(spec, {(letter, name): (run,) for name, run in runs.items()})
