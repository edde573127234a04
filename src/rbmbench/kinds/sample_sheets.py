# SPDX-License-Identifier: BSD-3-Clause
"""Figures of consecutive samples as images, one sheet per sampler, in reading order."""

import math

import numpy as np
import pandas as pd
from pydantic import Field

from rbmbench.base.errors import ResultsError
from rbmbench.base.settings import Count
from rbmbench.config.checks import Checks
from rbmbench.config.paper import KINDS
from rbmbench.config.parts import Names, PanelAddress
from rbmbench.io.layout import ISL, META, SHOWN
from rbmbench.io.results import read_arrays
from rbmbench.kinds.isl_curves import SampledPanel, SampleResults, heading_of, phrases_of, planned_samples
from rbmbench.planning.chart import Chart, Image, Layout
from rbmbench.planning.jobs import Output
from rbmbench.planning.kinds import Kind
from rbmbench.planning.runs import Planner
from rbmbench.planning.specs import FigureSpec
from rbmbench.reporting.words import count, listed, variant_notes

PAPER = 255
GREYS = 16
"""Shades of a sheet; with all 256 a picture is twice as large."""
LEAST_INK = 0.03
"""Mean grey of a sheet or a sample below which it is explained in words; MNIST's digits have 0.13."""
MOST_INCHES = 400  # of a figure's height: a picture has at most 2**16 pixels


Sheets = tuple[SampleResults, dict[str, np.ndarray]]
"""Streams of samples, and by sampler the first samples of the first model: images (images, m), 0 to 255."""


class SampleSheetsSpec(FigureSpec):
    """A figure of consecutive samples as images."""

    columns: int
    lines: int
    panels: tuple[SampledPanel]

    def sources(self) -> dict[str, tuple[str, ...]]:
        (panel,) = self.panels
        return {panel.runs[0].folder: (META,), panel.samples.folder: (ISL, SHOWN, META)}

    def read(self) -> Sheets:
        (panel,) = self.panels
        samples = SampleResults.read(panel)
        names = {entry.sampler: f"{entry.sampler}-{samples.chosen[entry.sampler]}" for entry in panel.samplers}
        arrays = read_arrays(f"{panel.samples.folder}/{SHOWN}", names.values())
        return samples, {sampler: arrays[name][: self.columns * self.lines] for sampler, name in names.items()}

    def numbers(self, results: Sheets) -> pd.DataFrame:
        """Return a row per image: sampler, label, options, sample (its number), and ink, the mean grey in [0, 1]."""
        (panel,), (samples, sheets), parts = self.panels, results, []
        for sampler in panel.samplers:
            images, options = sheets[sampler.sampler], samples.options(sampler.sampler)
            fields = {"sampler": sampler.sampler, "label": sampler.label, "options": options}
            ink = {"sample": range(1, len(images) + 1), "ink": images.mean(axis=1) / 255}
            parts.append(pd.DataFrame(fields | ink))
        return pd.concat(parts, ignore_index=True)

    def chart(self, results: Sheets) -> Chart:
        from matplotlib import colormaps

        from rbmbench.reporting.mosaics import address

        (panel,), (samples, sheets) = self.panels, results
        side = math.isqrt(visible := next(iter(sheets.values())).shape[1])
        if side * side != visible:
            raise ResultsError(f"{samples.panel.samples.folder}: samples of {visible} units; must be square images")
        images = []
        for sampler in panel.samplers:
            sheet, options = sheets[sampler.sampler], samples.options(sampler.sampler)
            name = f"{sampler.label} ({options})" if options else sampler.label
            note = "\nalmost blank: most have hardly any ink" if sheet.mean() < LEAST_INK * 255 else ""
            image = address(colormaps["gray"](sheet_of(sheet, self.columns, side), bytes=True)[..., :3])
            words = {"name": "samples", "words": options or sampler.label, "heading": name + note}
            images.append(Image(key=sampler.sampler, label=sampler.label, **words, address=image))
        head, row = height(0, self.columns, self.lines), height(1, self.columns, self.lines)
        layout = Layout(columns=2, row=row - head, head=(head, head))
        return Chart(heading=heading_of(self, [samples]), images=tuple(images), layout=layout)

    def caption(self, results: Sheets) -> str:
        (panel,), (samples, _) = self.panels, results
        blank = self.numbers(results).groupby("label", sort=False)["ink"].agg(lambda ink: (ink < LEAST_INK).sum())
        faint = listed([f"{number} by {label}" for label, number in blank.items() if number])
        stuck = (
            f" Images with hardly any ink, {faint}, are no mistake: no other setting that was tried covers the"
            " validation rows better."
        ) * bool(faint)
        first = (
            f"The first {count(self.columns * self.lines)} consecutive samples of a single chain, in reading order, all"
            f" from one RBM of {panel.hidden} hidden units trained by {panel.runs[0].label} on"
            f" {samples.meta['data']['title']}. Grey is E(x|h), in {GREYS} shades; deterministic samplers give black"
            " and white. In brackets: the setting that covers the validation rows best."
        )
        lines = [f"{line[:1].upper()}{line[1:]}." for line in phrases_of(self, [samples])]
        return " ".join([first + stuck, *variant_notes(self), *lines])


@KINDS.register
class SampleSheets(Kind):
    """A figure of consecutive samples as images, one sheet per sampler, of a panel of another figure."""

    panel: PanelAddress = Field(description="panel whose samples are shown, as FIGURE.PANEL")
    samplers: Names | None = Field(default=None, description="keys of the samplers, a sheet each; null: the panel's")
    columns: Count = Field(default=20, description="images in a row of a sheet")
    lines: Count = Field(default=10, description="rows of images of a sheet")

    SPEC = SampleSheetsSpec

    def check(self, checks: Checks, location: tuple) -> None:
        panels = checks.paper.panels_of("isl_curves")
        checks.check_names("panel", (self.panel,), panels, (*location, "panel"))
        _, panel = panels[self.panel]
        samplers = panel.samplers or checks.paper.samplers
        checks.check_names("sampler", self.samplers or (), samplers, (*location, "samplers"))
        if self.columns * self.lines > (kept := min(panel.shown, panel.samples)):
            message = f"must be at most the {kept} samples that are kept, got {self.columns} x {self.lines} images"
            raise checks.refuse((*location, "columns"), message)
        if (inches := height(len(self.samplers or samplers), self.columns, self.lines)) > MOST_INCHES:
            images = f"{self.lines} of {self.columns} images, {inches:.0f} inches"
            message = f"must give sheets of at most {MOST_INCHES} inches, got {images}"
            raise checks.refuse((*location, "lines"), message)
        visible = checks.paper.data[panel.data].visible
        if math.isqrt(visible) ** 2 != visible:
            message = f"must be square images, got {self.panel!r}, samples of {visible} units"
            raise checks.refuse((*location, "panel"), message)

    def plan(self, planner: Planner, key: str) -> Output:
        _, panel = planner.paper.panels_of("isl_curves")[self.panel]
        letter = self.panel.rpartition(".")[2]
        whole, jobs = planned_samples(planner, letter, panel)
        names = self.samplers or panel.samplers or tuple(planner.paper.samplers)
        samplers = [entry for name in names for entry in whole.samplers if entry.sampler == name]
        panels = [whole.model_copy(update={"samplers": tuple(samplers)})]
        spec = SampleSheetsSpec(**planner.heading(key, self), columns=self.columns, lines=self.lines, panels=panels)
        parts = {(letter, entry.sampler): jobs for entry in samplers}
        return planner.output(spec, parts, {"": {"of": self.panel}})


def height(sheets: int, columns: int, lines: int) -> float:
    """Return the height of a figure of sheets, two in a row, in inches."""
    return 0.9 + -(-sheets // 2) * (0.45 + 3.6 * lines / columns)


def sheet_of(images: np.ndarray, columns: int, side: int) -> np.ndarray:
    """Return images (images, side * side), 0 to 255, side by side in rows of ``columns``; ink is dark, of `GREYS`."""
    from rbmbench.training.plots import tiled

    step = PAPER / (GREYS - 1)
    shades = PAPER - np.rint(images / step) * step
    return np.nan_to_num(tiled(shades.reshape(-1, side, side), columns), nan=PAPER).astype(np.uint8)
