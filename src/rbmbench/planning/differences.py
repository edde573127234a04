# SPDX-License-Identifier: BSD-3-Clause
"""Differences of a figure or table, as it is run at a scale, from the same one with the published settings.

The settings of the planned jobs are compared field by field, so that new fields and kinds of plug-ins need no code
here. Titles, captions, notes, verdicts and the page use this list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from rbmbench import datasets, estimators, samplers, updates
from rbmbench.base.metrics import ANNEALED
from rbmbench.base.settings import AnnealingSettings, Choice, EstimateSettings, GroundTruthSettings, IfSet, Settings

if TYPE_CHECKING:
    from rbmbench.planning.jobs import Job, Output
    from rbmbench.planning.runs import Planner

PREFIXES = {AnnealingSettings: "annealing.", EstimateSettings: "estimate.", GroundTruthSettings: "ground_truth."}
"""Prefixes of the settings of measurements, whose names are also those of settings of training."""
REGISTRIES = {"data": datasets.REGISTRY, "estimator": estimators.REGISTRY, "update": updates.REGISTRY}
REGISTRIES |= {"samplers": samplers.REGISTRY}
NOT_COMPARED = {
    *("seed", "first_trial"),
    # Density and further metrics of evaluations, and samples kept as images: no compared number depends on them.
    *("evaluate_every", "evaluate_at", "evaluate_at_products", "validation_likelihood", "test_likelihood"),
    *("points", "shown", "seconds"),
    # Of the error of log Z, which is in captions and intervals.
    *("spacing", "bracket", "compared"),
}
ENDS = {"iterations", "samples"}
"""Budgets that decide the end of a curve: with a larger one than the paper's, claims are about another point."""
BUDGETS = ENDS | {
    *("trials", "products", "rows", "rounds", "replications", "longest", "estimate.estimates"),
    *("annealing.particles", "annealing.temperatures", "proxy.chains", "proxy.rows"),
    *("ground_truth.chains", "ground_truth.burn_in", "ground_truth.samples"),
}
TRIED = ("samplers.grid.", "rates")
"""Lists of values to try, the best of which is shown: fewer values are a smaller budget."""
TEMPERING = "annealing.tempering"
OF_LOG_PARTITION = ("annealing.particles", "annealing.temperatures", TEMPERING)
"""Not compared where tempered chains estimate log Z, the error of which is in captions and intervals."""
METRICS_OF = {
    "annealing": ANNEALED,
    "proxy": ("reconstruction_log_likelihood", "reconstruction_log_likelihood_error"),
    "bias_bound": ("cd_bias", "bias_bound", "bias_bound_gap", "older_bias_bound", "total_variation", "energy_change"),
}
"""Metrics that depend on settings of evaluations; other metrics do not."""


class Difference(Settings):
    """One difference from the published settings."""

    panel: str = IfSet(default="", description="panel, row or contest; empty: all")
    algorithm: str = IfSet(default="", description="key of an algorithm, sampler or coupling; empty: all of the panel")
    label: str = IfSet(default="", description="the algorithm in figures")
    setting: str = Field(description="name of the setting, as iterations or estimator.k; or panel, algorithm, figure")
    value: Any = Field(default=None, description="its value; of a panel, algorithm or figure that is left out: null")
    published: Any = Field(default=None, description="the published value; of added ones: null")
    kind: Literal["budget", "data", "setting"] = Field(
        description="budget: less computing, or parts left out; data: stand-in data; setting: it is a variant"
    )

    @property
    def is_part(self) -> bool:
        """Whether a panel, an algorithm or the whole figure is left out or added."""
        return self.setting in ("panel", "row", "contest", "algorithm", "figure", "table")

    def concerns(self, panel: str | None, algorithm: str | None = None) -> bool:
        """Return whether a panel and an algorithm of it have this difference; None matches any."""
        return (panel is None or self.panel in ("", panel)) and (algorithm is None or self.algorithm in ("", algorithm))

    def changes(self, metric: str) -> bool:
        """Return whether a metric of training depends on the setting."""
        return metric in METRICS_OF.get(self.setting.partition(".")[0], (metric,))


def differences(
    item: Any, output: Output, planner: Planner, published: tuple[Any, Output, Planner] | None
) -> tuple[Difference, ...]:
    """Return all differences of a figure or table from the published one.

    ``published`` has item, output and planner of the published settings; None: the paper has no such figure or table.
    """
    if published is None:
        return (Difference(setting="table" if item.IS_TABLE else "figure", value=item.title, kind="setting"),)
    published_item, published_output, reference = published
    papers = reference.paper, planner.paper
    labels = {name: entry.label for paper in papers for name, entry in (paper.algorithms | paper.samplers).items()}
    result = []
    for setting, name in dict.fromkeys((*published_item.parts, *item.parts)):
        if (is_new := (setting, name) in item.parts) != ((setting, name) in published_item.parts):
            result.append(_part(is_new, name, panel=name, setting=setting))
    for panel, settings in output.settings.items():
        if panel in published_output.settings:
            result += _changes(settings, published_output.settings[panel], panel)
    ours, theirs = _parts(output, planner), _parts(published_output, reference)
    for panel in theirs:
        if panel in ours:
            result += _of_panel(panel, ours[panel], theirs[panel], labels)
    return tuple(result)


def _part(is_new: bool, words: str, **place: str) -> Difference:
    kind = {"kind": "setting", "value": words} if is_new else {"kind": "budget", "published": words}
    return Difference(**place, **kind)


Settled = dict[str, dict[str, dict[str, object]]]
"""Settings by algorithm, by further labels of its jobs, and by name."""


def _parts(output: Output, planner: Planner) -> dict[str, Settled]:
    """Return all settings of a figure or table, by panel."""
    parts, plan, shared = output.parts, planner.plan, planner.shared
    if not parts:  # a kind of a plug-in that has only the ids of its jobs
        parts = {("", "", str(place)): (plan.jobs[name],) for place, name in enumerate(plan.needed(output))}
    result: dict[str, Settled] = {}
    for (panel, algorithm, *further), jobs_of_part in parts.items():
        settings: dict[str, object] = {}
        for job in jobs_of_part:
            if (job.id, algorithm) not in shared:  # an arena shows its jobs in several figures
                shared[job.id, algorithm] = dict(settings_of(job, algorithm))
            settings |= shared[job.id, algorithm]
        if "products" in output.settings.get(panel, {}):  # iterations follow from this budget
            settings = {name: value for name, value in settings.items() if name not in ("products", "iterations")}
        result.setdefault(panel, {}).setdefault(algorithm, {})["".join(further)] = settings
    return result


def _of_panel(panel: str, ours: Settled, published: Settled, labels: Mapping[str, str]) -> Iterator[Difference]:
    """Yield the differences of a panel; differences common to all its algorithms once."""
    common = [name for name in published if name in ours]
    for name in dict.fromkeys((*published, *ours)):
        if name not in common:
            label = labels.get(name, name)
            yield _part(name in ours, label, panel=panel, algorithm=name, label=label, setting="algorithm")
    changes: dict[str, tuple[Difference, dict[str, None]]] = {}
    for name in common:
        new, old, counted = ours[name], published[name], "rates" if panel else "jobs"
        pairs = [({counted: sorted(new)}, {counted: sorted(old)})]
        pairs += [(new[variant], old[variant]) for variant in old if variant in new]
        for change in (change for pair in pairs for change in _changes(*pair, panel)):
            changes.setdefault(change.model_dump_json(), (change, {}))[1][name] = None
    for change, names in changes.values():
        updates = [{"algorithm": name, "label": labels.get(name, name)} for name in names]
        yield from (change.model_copy(update=update) for update in ([{}] if len(names) == len(common) else updates))


def _changes(here: Mapping[str, Any], published: Mapping[str, Any], panel: str) -> list[Difference]:
    pairs = {name: (here.get(name), published.get(name)) for name in dict.fromkeys((*here, *published))}
    if here.get(TEMPERING):
        pairs = {name: pair for name, pair in pairs.items() if not name.startswith(OF_LOG_PARTITION)}
    changed = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    # A measurement has the batch of the training: the difference is listed once.
    listed = {name: pair for name, pair in changed.items() if changed.get(name.partition(".")[2]) != pair}
    of_data = any(name.partition(".")[0] == "data" for name in changed)
    stand_in = of_data and any(name.endswith(".stands_in_for") and here[name] for name in here)
    return [
        Difference(panel=panel, setting=name, value=pair[0], published=pair[1], kind=_kind(name, *pair, stand_in))
        for name, pair in listed.items()
        if not any(name.startswith(f"{whole}.") for whole in listed)
    ]


def _kind(name: str, value: Any, published: Any, stand_in: bool) -> str:
    if stand_in and name.removeprefix("estimate.").partition(".")[0] in ("data", "batch"):
        return "data"
    if name.startswith(TRIED):
        ours, theirs = value or (), published or ()
        return "budget" if len(ours) < len(theirs) and all(entry in theirs for entry in ours) else "setting"
    return "budget" if name in BUDGETS and not (name in ENDS and value > (published or 0)) else "setting"


def settings_of(job: Job, algorithm: str = "") -> Iterator[tuple[str, object]]:
    """Yield all compared settings of a job with their names; of settings by algorithm those of ``algorithm``."""
    prefix = PREFIXES.get(type(job.settings), "")
    for name in type(job.settings).model_fields:
        value = getattr(job.settings, name)
        if name == "schedule":
            *earlier, last = value
            yield "iterations", last.until
            for field in ("rate", "estimator", "update"):
                yield from _walked(field, getattr(last, field))
            yield from _walked("stages", {str(number): stage for number, stage in enumerate(earlier, start=1)})
        elif name not in NOT_COMPARED:
            by_algorithm = isinstance(value, dict) and algorithm in value
            yield from _walked(prefix + name, value[algorithm] if by_algorithm else value)


def _walked(name: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield a setting and its inner settings."""
    if isinstance(value, Choice):
        yield name, value.name
        registry = REGISTRIES.get(name.rpartition(".")[2])
        inner = (registry.options(value.name) if registry else {}) | value.options
        inner |= {"grid": value.grid} if getattr(value, "grid", None) else {}
    elif isinstance(value, Settings):
        yield name, True
        inner = {field: getattr(value, field) for field in type(value).model_fields}
    elif isinstance(value, dict):
        yield name, True
        inner = value
    else:
        yield name, list(value) if isinstance(value, tuple) else value
        return
    for field, inner_value in inner.items():
        yield from _walked(f"{name}.{field}", inner_value)
