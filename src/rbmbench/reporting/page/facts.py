# SPDX-License-Identifier: BSD-3-Clause
"""What a page knows of the panels of a figure beside its numbers: axes, runs, printed values and horizontal lines."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from rbmbench import estimators, updates
from rbmbench.base.errors import SettingsError
from rbmbench.io.layout import CURVE
from rbmbench.planning.specs import Shown as Spec
from rbmbench.reporting.frames import RunData, initial_words, machine_of, training_seconds
from rbmbench.reporting.page.model import Line, Pace, PrintedValue
from rbmbench.reporting.references import TITLES


@dataclass(frozen=True)
class RunFacts:
    """The run behind a curve: its id, what an iteration of it takes, and its curves of single trials where there are.

    Attributes
    ----------
    run : str
    machine : tuple
        See `rbmbench.reporting.frames.machine_of`.
    seconds : float or None
        Processor seconds that one trial takes to train for one iteration; None if the run has not recorded it.
    steps : tuple of Pace
        Gibbs steps of an iteration, stage by stage, up to the first stage in which they have no fixed number.
    files : RunData or None
        None where the curves of the trials are not kept.
    """

    run: str
    machine: tuple = ()
    seconds: float | None = None
    steps: tuple[Pace, ...] = ()
    files: RunData | None = None

    @classmethod
    def of(cls, meta: Mapping[str, Any], folder: Path) -> "RunFacts":
        """Return what the meta of a run says, with its files if there are in a folder."""
        files = RunData.read(str(folder)) if (folder / CURVE).is_file() else None
        schedule = (meta.get("settings") or {}).get("schedule") or ()
        return cls(str(meta.get("run", "")), machine_of(meta), _seconds(meta), _paces(schedule), files)

    def trials(self, metric: str) -> pd.DataFrame | None:
        """Return a metric as trials by iterations; None for a single trial, or where it is not kept."""
        if self.files is None or metric not in set(self.files.curve["metric"]):
            return None
        trials = self.files.trials(metric)
        return trials if len(trials) > 1 else None


@dataclass(frozen=True)
class PanelFacts:
    """What is known of a panel beside its numbers.

    Attributes
    ----------
    log_x, log_y : bool
        Whether its axes are logarithmic.
    epoch : int or None
        Iterations of an epoch, where the axis counts epochs.
    words : tuple of str
        What tells it from other panels of the same data.
    model : str
        What samples are drawn from, "" where none are: the data, the hidden units, and how it was trained.
    iterations : int or None
        The published iterations.
    metric : str
        Its first metric.
    printed : tuple of PrintedValue
        Values of the paper, in the units of the axes.
    lines : mapping of str to Line
        Horizontal lines by their name.
    runs : mapping of str to RunFacts
        By algorithm.
    """

    log_x: bool = False
    log_y: bool = False
    epoch: int | None = None
    words: tuple[str, ...] = ()
    model: str = ""
    iterations: int | None = None
    metric: str = "log_likelihood"
    printed: tuple[PrintedValue, ...] = ()
    lines: Mapping[str, Line] = field(default_factory=dict)
    runs: Mapping[str, RunFacts] = field(default_factory=dict)


def panel_facts(shown: Any, more: Mapping[str, Any], runs: Mapping[str, RunFacts]) -> dict[str, PanelFacts]:
    """Return what is known of the panels of a figure, by their letter.

    Parameters
    ----------
    shown
        Its spec, or its entry in the configuration; a figure without panels is one panel "a".
    more : mapping
        What `rbmbench.planning.specs.FigureSpec.facts` returned; may be empty.
    runs : mapping of str to RunFacts
        By the name of their folder.
    """
    panels = getattr(shown, "panels", None) or ({"a": shown} if shown is not None else {})
    if not isinstance(panels, Mapping):
        panels = {panel.name: panel for panel in panels}
    found = {}
    for name, panel in panels.items():
        own = getattr(panel, "iterations", None)
        published = shown.as_published("iterations", own, str(name)) if isinstance(shown, Spec) else own
        found[name] = replace(_panel(panel, str(name), more, runs), iterations=published)
    return found


def _panel(panel: Any, name: str, more: Mapping[str, Any], runs: Mapping[str, RunFacts]) -> PanelFacts:
    epoch = getattr(panel, "epoch", None)
    metrics = getattr(panel, "metrics", getattr(panel, "metric", ("log_likelihood",)))
    of_panel = {one.algorithm: Path(one.folder).name for one in getattr(panel, "runs", ())}
    printed = (
        PrintedValue(label=one.label, value=one.value, at=one.at and one.at / (epoch or 1))
        for one in getattr(panel, "printed", ())
    )
    return PanelFacts(
        log_x=getattr(panel, "iteration_axis", "linear") == "log",
        log_y=getattr(panel, "axis", "linear") == "log",
        epoch=epoch,
        words=_words(panel),
        model=panel.sampled_model(more[name]) if hasattr(panel, "sampled_model") and name in more else "",
        metric=metrics[0],
        printed=tuple(printed),
        lines=_lines(name, more),
        runs={algorithm: runs[folder] for algorithm, folder in of_panel.items() if folder in runs},
    )


def _words(panel: Any) -> tuple[str, ...]:
    """Return what tells a panel from others of the same data: its own mini-batches and initial parameters."""
    batch, initial = getattr(panel, "batch", None), getattr(panel, "initial", None)
    initial = initial.model_dump() if hasattr(initial, "model_dump") else initial
    return (*[f"mini-batches of {batch}"] * bool(batch), *(initial_words(initial) if initial else []))


def _lines(panel: str, more: Mapping[str, Any]) -> dict[str, Line]:
    """Return the horizontal lines of a panel: of learning curves, or the training set taken for samples."""
    found = {name: Line(title=TITLES[name], value=value) for name, value in more.get("references", {}).get(panel, ())}
    samples = more.get(panel) or {}
    if "training_set" in samples:
        found["training_set"] = Line(title="training set", value=samples["training_set"])
    return found


def _seconds(meta: Mapping[str, Any]) -> float | None:
    if "training_seconds" not in (meta.get("wall") or {}) or not (meta.get("iterations") and meta.get("trials")):
        return None
    return float(f"{training_seconds(meta) / (meta['iterations'] * meta['trials']):.5g}")


def _paces(schedule: Sequence[Mapping[str, Any]]) -> tuple[Pace, ...]:
    """Return the Gibbs steps of each stage of a schedule, up to the first whose number is not fixed."""
    found = []
    for stage in schedule:
        steps = _inner_steps(stage.get("update") or {}) * _gibbs_steps(stage["estimator"])
        if not steps:
            break
        found.append(Pace(until=stage["until"], steps=steps))
    return tuple(found)


def _inner_steps(update: Mapping[str, Any]) -> int:
    """Return the negative phases of an iteration."""
    with suppress(SettingsError):
        return getattr(updates.REGISTRY.create(update.get("name", "sgd"), update.get("options")), "inner_steps", 1)
    return 1


def _gibbs_steps(estimator: Mapping[str, Any]) -> int:
    """Return the Gibbs steps of a row of the negative phase; 0 for a random number, or an estimator that is gone."""
    with suppress(SettingsError):
        return estimators.create(estimator["name"], **(estimator.get("options") or {})).gibbs_steps
    return 0
