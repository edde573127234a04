"""From the configuration to what has to be computed: runs, ground truths and estimates, and who needs which.

Everything here is pure: equal configurations give equal plans, ids and specs. What two figures share is there once.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rbmbench.config_schema import Algorithm, BiasVariance, DataEntry, LearningCurves, Panel, Paper
from rbmbench.configuration import Configuration
from rbmbench.errors import SettingsError
from rbmbench.likelihood.exact import is_enumerable
from rbmbench.settings import AnnealingSettings, Choice, EstimateSettings, GroundTruthSettings, RunSettings, Stage

__all__ = [
    "ENUMERABLE_UNITS",
    "Estimate",
    "Evaluation",
    "GroundTruth",
    "Plan",
    "Result",
    "Run",
    "derived_seed",
    "plan",
]

ENUMERABLE_UNITS = 20
"""Most units the smaller layer may have for an exact ground truth to be computed beside the sampled one."""


@dataclass(frozen=True)
class Run:
    """A training run: its id, the key of its data set, and its settings."""

    id: str
    data: str
    settings: RunSettings


@dataclass(frozen=True)
class Evaluation:
    """The log-likelihoods of a run's snapshots, estimated by annealed importance sampling."""

    id: str
    run: str
    settings: AnnealingSettings


@dataclass(frozen=True)
class GroundTruth:
    """The model expectations of a run's trained models."""

    id: str
    run: str
    settings: GroundTruthSettings


@dataclass(frozen=True)
class Estimate:
    """Gradient estimates of a run's trained models, and the ground truths they are held against."""

    id: str
    run: str
    settings: EstimateSettings
    ground_truths: tuple[str, ...]


@dataclass(frozen=True)
class Result:
    """A figure or a table: its spec for the reports, and the ids of what it shows."""

    key: str
    paper: str
    kind: str
    spec: Mapping[str, Any]
    runs: tuple[str, ...]
    estimates: tuple[str, ...] = ()
    evaluations: tuple[str, ...] = ()


@dataclass
class Plan:
    """All that one scale computes, each thing by its id."""

    scale: str
    papers: tuple[str, ...]
    data: dict[str, DataEntry] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    evaluations: dict[str, Evaluation] = field(default_factory=dict)
    ground_truths: dict[str, GroundTruth] = field(default_factory=dict)
    estimates: dict[str, Estimate] = field(default_factory=dict)
    figures: dict[str, Result] = field(default_factory=dict)
    tables: dict[str, Result] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Where everything of this scale is written."""
        return f"results/{self.scale}"

    def run_folder(self, run: str) -> str:
        """Return the folder of a run."""
        return f"{self.folder}/runs/{run}"

    def evaluation_folder(self, evaluation: str) -> str:
        """Return the folder of an evaluation: it holds a curve and meta as a run's folder does."""
        return f"{self.folder}/evaluations/{evaluation}"

    def of_paper(self, paper: str) -> list[str]:
        """Return the keys of a paper's figures and tables."""
        return [key for key, result in (self.figures | self.tables).items() if result.paper == paper]

    def gradient_folder(self, part: str) -> str:
        """Return the folder of a ground truth or of estimates."""
        return f"{self.folder}/gradients/{part}"


def plan(configuration: Configuration) -> Plan:
    """Return what has to be computed for a configuration.

    Raises
    ------
    SettingsError
        If two papers mean different data sets by one key.
    """
    result = Plan(configuration.main.scale, configuration.main.papers)
    for paper in configuration.papers:
        _add_data(result, paper)
        published = configuration.published[paper.key]
        for name, figure in paper.figures.items():
            key = f"{paper.key}_{name}"
            result.figures[key] = _figure(result, paper, published, key, figure, published.figures.get(name))
        for name, table in paper.tables.items():
            key = f"{paper.key}_{name}"
            numbers = configuration.published_tables[paper.key].get(name, {})
            result.tables[key] = _table(result, paper, key, table, published.tables.get(name), numbers)
    return result


def derived_seed(seed: int, *purpose: Any) -> int:
    """Return the seed for one purpose: 32 bits of the sha256 of the paper's seed and what it is for."""
    text = "/".join(str(part) for part in (seed, *purpose))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _add_data(result: Plan, paper: Paper) -> None:
    """Add a paper's data sets; one key must mean one data set, for it names the file."""
    for name, entry in paper.data.items():
        known = result.data.setdefault(name, entry)
        if (known.name, known.options) != (entry.name, entry.options):
            raise SettingsError(
                f"config/papers/{paper.key}.yaml: data.{name}: found {entry.name} {entry.options}; another paper means "
                f"{known.name} {known.options} by this key: give one of them another key"
            )


def _run(result: Plan, paper: Paper, panel: Panel, algorithm: str, trials: int) -> Run:
    """Return the run of one algorithm on one panel, added to the plan.

    All algorithms and rates of one data set and size have one seed: the same initial parameters and mini-batches.
    """
    entry, chosen = paper.data[panel.data], paper.algorithms[algorithm]
    settings = RunSettings(
        data=Choice(name=entry.name, options=entry.options),
        hidden=panel.hidden,
        batch=entry.batch,
        schedule=(Stage(until=panel.iterations, estimator=_estimator(chosen), update=chosen.update, rate=panel.rate),),
        trials=trials,
        seed=derived_seed(paper.defaults.seed, "train", panel.data, panel.hidden),
        initial=paper.defaults.initial,
        precision=paper.defaults.precision,
        evaluate_every=panel.evaluate_every or paper.defaults.evaluate_every,
        proxy=panel.proxy or paper.defaults.proxy,
    )
    identity = f"{panel.data}-{panel.hidden}h-{algorithm}-{panel.rate:g}-{settings.digest()}"
    return result.runs.setdefault(identity, Run(identity, panel.data, settings))


def _evaluation(result: Plan, paper: Paper, panel: Panel, run: Run) -> Evaluation | None:
    """Return the evaluation of a run whose likelihood cannot be enumerated, added to the plan; else None.

    All runs of a panel have one seed: annealing errors of like models are alike, and differences are known better.
    """
    if is_enumerable(paper.data[panel.data].visible, panel.hidden):
        return None
    budget = panel.annealing or paper.defaults.annealing
    seed = derived_seed(paper.defaults.seed, "annealing", panel.data, panel.hidden)
    settings = AnnealingSettings(seed=seed, **budget.model_dump())
    identity = f"{run.id.rpartition('-')[0]}-ais-{_digest(run.id, settings.canonical())}"
    return result.evaluations.setdefault(identity, Evaluation(identity, run.id, settings))


def _annealing(base: Paper, panel: Panel, published: Panel | None, evaluated: list) -> dict[str, Any]:
    """Return what the spec of a panel says of its annealing and the paper's; nothing where log Z is exact."""
    if not evaluated[0]:
        return {}
    settings = evaluated[0].settings
    paper_budget = published and (published.annealing or base.defaults.annealing)
    return {
        "annealing": settings.model_dump(include={"particles", "temperatures"}),
        "paper_annealing": paper_budget and paper_budget.model_dump(include={"particles", "temperatures"}),
    }


def _estimator(algorithm: Algorithm) -> Choice:
    """Return the estimator of an algorithm with its options."""
    return Choice(name=algorithm.estimator, options=algorithm.options)


def _figure(
    result: Plan, paper: Paper, base: Paper, key: str, figure: LearningCurves, published: LearningCurves | None
) -> Result:
    """Return a figure of learning curves, its runs added to the plan."""
    panels, runs, evaluations = [], [], []
    for name, panel in figure.panels.items():
        trials = panel.trials or paper.defaults.trials
        of_panel = {a: _run(result, paper, panel, a, trials) for a in paper.algorithms_of(figure)}
        evaluated = {a: _evaluation(result, paper, panel, run) for a, run in of_panel.items()}
        evaluations += [evaluation.id for evaluation in evaluated.values() if evaluation]
        as_published = published.panels.get(name) if published else None
        panels.append(
            {
                "name": name,
                "data": panel.data,
                "hidden": panel.hidden,
                "rate": panel.rate,
                "iterations": panel.iterations,
                "paper_iterations": as_published and as_published.iterations,
                "trials": trials,
                "paper_trials": as_published and (as_published.trials or base.defaults.trials),
                **_annealing(base, panel, as_published, list(evaluated.values())),
                "runs": [
                    {
                        "algorithm": a,
                        "label": paper.algorithms[a].label,
                        "folder": result.evaluation_folder(evaluated[a].id)
                        if evaluated[a]
                        else result.run_folder(run.id),
                    }
                    for a, run in of_panel.items()
                ],
            }
        )
        runs += [run.id for run in of_panel.values()]
    spec = _heading(result, paper, key, figure) | {"panels": panels}
    return Result(key, paper.key, figure.kind, spec, _unique(runs), evaluations=_unique(evaluations))


def _table(
    result: Plan, paper: Paper, key: str, table: BiasVariance, published: BiasVariance | None, numbers: Mapping
) -> Result:
    """Return a table of bias and variance; its models, ground truths and estimates added to the plan."""
    rows, runs, estimates = [], [], []
    for name, row in table.rows.items():
        run = _run(result, paper, row, table.trained_with, row.trials or table.models)
        truths = _ground_truths(result, paper, table, row, run)
        of_row = {a: _estimate(result, paper, table, row, run, a, truths) for a in table.estimators}
        runs.append(run.id)
        estimates += [estimate.id for estimate in of_row.values()]
        as_published = published.rows.get(name) if published else None
        rows.append(
            {
                "name": name,
                "data": row.data,
                "hidden": row.hidden,
                "rate": row.rate,
                "iterations": row.iterations,
                "paper_iterations": as_published and as_published.iterations,
                "estimates_count": table.estimates,
                "paper_estimates": published and published.estimates,
                "models": run.settings.trials,
                "ground_truth": table.ground_truth.model_dump(),
                "paper_ground_truth": published and published.ground_truth.model_dump(),
                "model": result.run_folder(run.id),
                "estimates": [_measured(result, paper, a, estimate) for a, estimate in of_row.items()],
            }
        )
    spec = _heading(result, paper, key, table) | {"rows": rows, "published": numbers}
    return Result(key, paper.key, table.kind, spec, _unique(runs), _unique(estimates))


def _measured(result: Plan, paper: Paper, algorithm: str, estimate: Estimate) -> dict[str, Any]:
    """Return what the spec of a table says of one estimator of a row."""
    chosen = paper.algorithms[algorithm]
    folder = result.gradient_folder(estimate.id)
    return {"algorithm": algorithm, "label": chosen.label, "k": chosen.options.get("k"), "folder": folder}


def _ground_truths(result: Plan, paper: Paper, table: BiasVariance, row: Panel, run: Run) -> tuple[str, ...]:
    """Return the ids of a row's ground truths: by parallel tempering, and exact where that can be computed."""
    seed = derived_seed(paper.defaults.seed, "ground_truth", row.data, row.hidden)
    chosen = [GroundTruthSettings(method="parallel_tempering", seed=seed, **table.ground_truth.model_dump())]
    if min(row.hidden, paper.data[row.data].visible) <= ENUMERABLE_UNITS:
        chosen.insert(0, GroundTruthSettings(method="exact"))
    ids = []
    for settings in chosen:
        digest = _digest(run.id, settings.canonical())
        identity = f"{row.data}-{row.hidden}h-{settings.method}-truth-{digest}"
        result.ground_truths.setdefault(identity, GroundTruth(identity, run.id, settings))
        ids.append(identity)
    return tuple(ids)


def _estimate(
    result: Plan, paper: Paper, table: BiasVariance, row: Panel, run: Run, algorithm: str, truths: tuple[str, ...]
) -> Estimate:
    """Return the estimates of one algorithm for a row, added to the plan; all algorithms see the same mini-batches."""
    settings = EstimateSettings(
        estimator=_estimator(paper.algorithms[algorithm]),
        batch=paper.data[row.data].batch,
        estimates=table.estimates,
        seed=derived_seed(paper.defaults.seed, "estimates", row.data, row.hidden),
    )
    digest = _digest(run.id, settings.canonical(), *truths)
    identity = f"{row.data}-{row.hidden}h-{algorithm}-bias-{digest}"
    return result.estimates.setdefault(identity, Estimate(identity, run.id, settings, truths))


def _heading(result: Plan, paper: Paper, key: str, what: LearningCurves | BiasVariance) -> dict[str, Any]:
    """Return what the specs of figures and tables have in common."""
    return {"key": key, "paper": paper.key, "title": what.title, "kind": what.kind, "scale": result.scale}


def _digest(*parts: str) -> str:
    """Return the first 10 hexadecimal digits of the sha256 of the parts, one a line."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:10]


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names without repetitions, in their first order."""
    return tuple(dict.fromkeys(names))
