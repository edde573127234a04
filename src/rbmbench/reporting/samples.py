"""Streams of samples: how well they cover rows not seen in training, as numbers, as a figure, and in words."""

import math
from textwrap import wrap
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rbmbench.base.errors import ResultsError
from rbmbench.io.results import read_isl, read_meta
from rbmbench.measurements.sampling import TRAINING_SET
from rbmbench.reporting.frames import data_of
from rbmbench.reporting.plots import LOOK, page
from rbmbench.reporting.specs import IslCurvesSpec, SampledPanel, SampleSheetsSpec
from rbmbench.reporting.style import styles
from rbmbench.reporting.words import count, cuts, data_name, listed, panel_cuts

__all__ = [
    "caption",
    "chosen",
    "curves",
    "curves_of_panel",
    "differences",
    "figure",
    "grid_table",
    "options_in_words",
    "stand_in",
    "title",
    "training_set",
    "whole_side",
]

COLUMNS = ["panel", "sampler", "label", "setting", "options", "trial", "samples", "validation", "test", "flip"]
TITLE_WIDTH, PANELS_WIDTH = 84, 104  # letters that fit beside each other
SYMBOLS = {"fast_rate": "ε", "decay": "α", "k": "k", "temperatures": "temperatures", "batch": "batch"}


def options_in_words(options: dict[str, Any]) -> str:
    """Return the options of a setting: "α = 1, ε = 0.01, k = 5"."""
    return ", ".join(f"{SYMBOLS.get(name, name)} = {value:g}" for name, value in sorted(options.items()))


def chosen(panel: SampledPanel, table: pd.DataFrame | None = None) -> dict[str, int]:
    """Return the setting of each sampler that covers the validation rows best after all samples, over the trials.

    Parameters
    ----------
    panel : SampledPanel
    table : DataFrame, optional
        The likelihoods of the panel, where they are read already.

    Raises
    ------
    ResultsError
        If the folder is missing or damaged, or lacks a sampler of the panel.
    """
    table = read_isl(panel.samples.folder) if table is None else table
    found = {}
    for one in panel.samplers:
        last = table[(table["sampler"] == one.sampler) & (table["samples"] == panel.samples_count)]
        if last.empty:
            raise ResultsError(f"{panel.samples.folder}/isl.parquet: sampler {one.sampler!r} is missing")
        found[one.sampler] = int(last.groupby("setting")["validation"].mean().idxmax())
    return found


def curves(spec: IslCurvesSpec | SampleSheetsSpec) -> pd.DataFrame:
    """Return the likelihoods of the chosen settings of all samplers, in nats a row.

    Returns
    -------
    DataFrame
        Columns `COLUMNS`, a line a panel, sampler, trial and number of samples.
    """
    return pd.concat([curves_of_panel(panel) for panel in spec.panels], ignore_index=True)


def curves_of_panel(panel: SampledPanel) -> pd.DataFrame:
    """Return the likelihoods of the chosen settings of a panel's samplers; see `curves`."""
    table, meta = read_isl(panel.samples.folder), read_meta(panel.samples.folder)
    best, parts = chosen(panel, table), []
    for one in panel.samplers:
        setting = best[one.sampler]
        options = options_in_words(meta["grids"][one.sampler][setting])
        of_setting = table[(table["sampler"] == one.sampler) & (table["setting"] == setting)]
        parts.append(of_setting.assign(panel=panel.name, label=one.label, options=options))
    return pd.concat(parts, ignore_index=True)[COLUMNS]


def training_set(panel: SampledPanel) -> float:
    """Return the test likelihood of the training rows taken for samples, nats a row."""
    table = read_isl(panel.samples.folder)
    return float(table.loc[table["sampler"] == TRAINING_SET, "test"].iloc[0])


def stand_in(panel: SampledPanel) -> str:
    """Return what the data of a panel stand in for, "" for the real ones."""
    return data_of(read_meta(panel.samples.folder), panel.samples.folder)["stand_in"]


def grid_table(spec: IslCurvesSpec | SampleSheetsSpec) -> pd.DataFrame:
    """Return what every setting that was tried came to after all samples, means over the trials, the best first."""
    lines = []
    for panel in spec.panels:
        table, meta = read_isl(panel.samples.folder), read_meta(panel.samples.folder)
        best = chosen(panel, table)
        last = table[table["samples"] == panel.samples_count]
        means = last.groupby(["sampler", "setting"])[["validation", "test"]].mean()
        for one in panel.samplers:
            for setting, options in enumerate(meta["grids"][one.sampler]):
                values = means.loc[(one.sampler, setting)]
                shown = {"panel": panel.name, "sampler": one.label, "options": options_in_words(options)}
                lines.append(shown | values.to_dict() | {"chosen": setting == best[one.sampler]})
    return pd.DataFrame(lines).sort_values(["panel", "sampler", "validation"], ascending=[True, True, False])


def figure(spec: IslCurvesSpec, found: pd.DataFrame) -> Figure:
    """Draw the test likelihood against the number of samples, a panel each, with a line for the training set.

    Parameters
    ----------
    spec : IslCurvesSpec
    found : DataFrame
        As `curves` returns it.
    """
    looks = styles(one.sampler for panel in spec.panels for one in panel.samplers)
    with mpl.rc_context(LOOK):
        drawn = page(1)
        drawn.set_figheight(4.8)
        for ax, panel in zip(drawn.subplots(1, len(spec.panels), squeeze=False)[0], spec.panels, strict=True):
            _draw(ax, panel, found[found["panel"] == panel.name], looks, PANELS_WIDTH // len(spec.panels))
        drawn.suptitle(title(spec))
    return drawn


def _draw(ax: Axes, panel: SampledPanel, found: pd.DataFrame, looks: dict[str, dict], width: int) -> None:
    """Draw one panel; ``width`` is the number of letters that fit beside each other."""
    line, ends = training_set(panel), []
    for (sampler, label, options), of_sampler in found.groupby(["sampler", "label", "options"], sort=False):
        groups = of_sampler.groupby("samples")["test"]
        mean, low, high = groups.mean(), groups.min(), groups.max()
        ax.plot(mean.index, mean, label=f"{label} ({options})" if options else label, **looks[sampler])
        if of_sampler["trial"].nunique() > 1:
            ax.fill_between(low.index, low, high, color=looks[sampler]["color"], alpha=0.15, linewidth=0)
        ends.append(float(mean.iloc[-1]))
    ax.axhline(line, color="0.25", linewidth=1.0, linestyle=(0, (6, 2)), label=f"training set: {line:.1f}")
    ax.set_xscale("log")
    ax.set_xlim(1, panel.samples_count)
    top, bottom = max(*ends, line), min(float(found["test"].quantile(0.02)), *ends, line)
    ax.set_ylim(bottom - 0.04 * (top - bottom), top + 0.05 * (top - bottom))
    ax.set_xlabel("samples")
    ax.set_ylabel("test log-likelihood (ISL, nats a row)")
    ax.set_title("\n".join(wrap(f"{panel.name}: {_model(panel)}", width)), loc="left")
    ax.grid(color="0.9", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.spines["right"].set_visible(False)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=max(1, width // 50), frameon=False, fontsize=6.8)


def _model(panel: SampledPanel) -> str:
    data = data_of(read_meta(panel.samples.folder), panel.samples.folder)
    taking = f" (stand-in for {data_name(data['stand_in'])})" if data["stand_in"] else ""
    return f"{data['title']}{taking}, {panel.hidden} hidden units, {panel.runs[0].label}"


def differences(spec: IslCurvesSpec | SampleSheetsSpec) -> list[str]:
    """Return a phrase for each panel whose samples differ from the paper's."""
    phrases = []
    for panel in spec.panels:
        other = data_name(stand_in(panel))
        less = [f"stand-in data for {other}"] if other else []
        less += [*panel_cuts(panel), *cuts(panel.samples_count, panel.paper_samples, "samples")]
        phrases += [f"panel {panel.name}: {listed(less)}"] if less else []
    return phrases


def title(spec: IslCurvesSpec | SampleSheetsSpec) -> str:
    """Return the title of a figure: what it is, the scale, and how it differs from the paper's."""
    lines = [spec.which, *differences(spec)]
    return "\n".join([spec.title, *(part for line in lines for part in wrap(line, TITLE_WIDTH))])


def caption(spec: IslCurvesSpec, found: pd.DataFrame) -> str:
    """Return the caption of the figure."""
    words = []
    for panel in spec.panels:
        last = found[(found["panel"] == panel.name) & (found["samples"] == panel.samples_count)]
        means = last.groupby("label", sort=False)["test"].mean()
        ends = ", ".join(f"{label} {value:.2f}" for label, value in means.items())
        line = f"training set {training_set(panel):.2f}"
        words.append(f"Panel {panel.name}, after {count(panel.samples_count)} samples: {ends}; {line}.")
    words += [f"{line[:1].upper()}{line[1:]}." for line in differences(spec)]
    return (
        "Indirect sampling likelihood of the test rows, nats a row: the first samples of a single chain, as a mixture"
        " of products of Bernoulli units around each of them, with the noise that suits the validation rows best at"
        " that number of samples. Lines: mean over the trained models, bands: smallest to largest. In brackets: the"
        " setting that covers the validation rows best after all samples. Dashed: the training rows as samples. "
    ) + " ".join(words)


def whole_side(visible: int, folder: str) -> int:
    """Return the side of square images of so many pixels.

    Raises
    ------
    ResultsError
        If they are not square.
    """
    side = math.isqrt(visible)
    if side * side != visible:
        raise ResultsError(f"{folder}: samples of {visible} units; should be square images")
    return side
