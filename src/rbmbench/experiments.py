"""From the configuration to what has to be computed: runs, ground truths and estimates, and who needs which.

Everything here is pure: equal configurations give equal plans, ids and specs. What two figures share is there once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from rbmbench.config_schema import (
    Algorithm,
    BiasVariance,
    CouplingTimes,
    FigurePanel,
    LearningCurves,
    Panel,
    Paper,
    RunTimes,
)
from rbmbench.configuration import Configuration
from rbmbench.errors import SettingsError
from rbmbench.likelihood.exact import is_enumerable
from rbmbench.metrics import ANNEALED
from rbmbench.planned import (
    CoupledChains,
    Estimate,
    Evaluation,
    GroundTruth,
    Plan,
    Result,
    Run,
    derived_seed,
    digest_of,
    unique,
)
from rbmbench.settings import (
    AnnealingSettings,
    Choice,
    CouplingSettings,
    EstimateSettings,
    GroundTruthSettings,
    RunSettings,
    Stage,
)

__all__ = ["ENUMERABLE_UNITS", "plan"]

ENUMERABLE_UNITS = 20
"""Most units the smaller layer may have for an exact ground truth to be computed beside the sampled one."""


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
            key, as_published = f"{paper.key}_{name}", _of_kind(published.figures.get(name), figure)
            result.figures[key] = MAKERS[figure.kind](result, paper, published, key, figure, as_published)
        for name, table in paper.tables.items():
            key, as_published = f"{paper.key}_{name}", _of_kind(published.tables.get(name), table)
            made = MAKERS[table.kind](result, paper, published, key, table, as_published)
            numbers = configuration.published_tables[paper.key].get(name, {})
            result.tables[key] = replace(made, spec=made.spec | {"published": numbers})
    return result


def _of_kind(published: Any, what: Any) -> Any:
    """Return the published settings of a figure or table if there are any and they are of its kind."""
    return published if published is not None and published.kind == what.kind else None


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
    entry = paper.data[panel.data]
    settings = RunSettings(
        data=Choice(name=entry.name, options=entry.options),
        hidden=panel.hidden,
        batch=panel.batch or entry.batch,
        schedule=_schedule(paper.algorithms[algorithm], panel),
        trials=trials,
        seed=derived_seed(paper.defaults.seed, "train", panel.data, panel.hidden),
        initial=panel.initial or paper.defaults.initial,
        precision=paper.defaults.precision,
        evaluate_every=panel.evaluate_every or paper.defaults.evaluate_every,
        evaluate_at=paper.defaults.evaluate_at if panel.evaluate_at is None else panel.evaluate_at,
        proxy=panel.proxy or paper.defaults.proxy,
        bias_bound=panel.bias_bound or paper.defaults.bias_bound,
        test_likelihood=paper.defaults.test_likelihood,
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
    identity = f"{run.id.rpartition('-')[0]}-ais-{digest_of(run.id, settings.canonical())}"
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


def _schedule(algorithm: Algorithm, panel: Panel) -> tuple[Stage, ...]:
    """Return the stages of an algorithm on a panel, which gives the last iteration and the rates that are left out."""
    return tuple(
        Stage(
            until=stage.until or panel.iterations,
            estimator=Choice(name=stage.estimator, options=stage.options),
            update=stage.update,
            rate=stage.rate or panel.rate,
        )
        for stage in algorithm.stages
    )


def _learning_curves(
    result: Plan, paper: Paper, base: Paper, key: str, figure: LearningCurves, published: LearningCurves | None
) -> Result:
    """Return a figure of learning curves, its runs added to the plan."""
    panels, runs, evaluations, data = [], [], [], []
    for name, panel in figure.panels.items():
        of_panel = _runs(result, paper, panel, paper.algorithms_of(figure, panel))
        annealed = set(panel.metric) & set(ANNEALED)
        evaluated = {a: _evaluation(result, paper, panel, run) if annealed else None for a, run in of_panel.items()}
        folders = {
            a: result.evaluation_folder(evaluated[a].id) if evaluated[a] else result.run_folder(run.id)
            for a, run in of_panel.items()
        }
        runs += [run.id for run in of_panel.values()]
        evaluations += [evaluation.id for evaluation in evaluated.values() if evaluation]
        data += [panel.data] if panel.references else []
        as_published = published.panels.get(name) if published else None
        panels.append(
            {
                "name": name,
                **_trained(paper, base, panel, as_published, of_panel),
                **_annealing(base, panel, as_published, list(evaluated.values())),
                **_shown(result, panel),
                "runs": _labelled(paper, folders),
            }
        )
    spec = _heading(result, paper, key, figure) | {"band": figure.band.model_dump(mode="json"), "panels": panels}
    return Result(key, paper.key, figure.kind, spec, unique(runs), evaluations=unique(evaluations), data=unique(data))


def _runs(result: Plan, paper: Paper, panel: Panel, algorithms: tuple[str, ...]) -> dict[str, Run]:
    """Return the runs of a panel by their algorithms, added to the plan."""
    trials = panel.trials or paper.defaults.trials
    return {algorithm: _run(result, paper, panel, algorithm, trials) for algorithm in algorithms}


def _trained(
    paper: Paper, base: Paper, panel: Panel, published: Panel | None, algorithms: Iterable[str]
) -> dict[str, Any]:
    """Return what a spec says of the training of a panel, and of the paper's."""
    return {
        "data": panel.data,
        "hidden": panel.hidden,
        "paper_hidden": published and published.hidden,
        "option_cuts": _option_cuts(paper, base, algorithms),
        "rate": panel.rate,
        "iterations": panel.iterations,
        "paper_iterations": published and published.iterations,
        "trials": panel.trials or paper.defaults.trials,
        "paper_trials": published and (published.trials or base.defaults.trials),
    }


def _option_cuts(paper: Paper, base: Paper, algorithms: Iterable[str]) -> list[tuple[str, float, float]]:
    """Return which options of the algorithms' estimators are smaller than the paper's: name, found, published."""
    found = []
    for name in algorithms:
        published = base.algorithms[name].stages if name in base.algorithms else ()
        for stage, as_published in zip(paper.algorithms[name].stages, published, strict=False):
            for option, value in stage.options.items():
                other = as_published.options.get(option)
                if all(isinstance(number, int | float) for number in (value, other)) and value < other:
                    found.append((option, value, other))
    return list(dict.fromkeys(found))


def _shown(result: Plan, panel: FigurePanel) -> dict[str, Any]:
    """Return what a spec says of what a panel shows."""
    axes = {"axis": panel.axis, "iteration_axis": panel.iteration_axis}
    shown = {"metrics": list(panel.metric), **axes, "references": list(panel.references), "mark": panel.mark}
    shown |= {"batch": panel.batch, "initial": panel.initial and panel.initial.model_dump()}
    return shown | ({"data_file": result.data_file(panel.data)} if panel.references else {})


def _labelled(paper: Paper, folders: Mapping[str, str]) -> list[dict[str, str]]:
    """Return what a spec says of the curves of a panel."""
    return [{"algorithm": a, "label": paper.algorithms[a].label, "folder": folder} for a, folder in folders.items()]


def _coupling_times(
    result: Plan, paper: Paper, base: Paper, key: str, figure: CouplingTimes, published: CouplingTimes | None
) -> Result:
    """Return a figure of stopping times, its chains added to the plan; all couplings have one model and one start."""
    sizes = figure.model_dump(include={"visible", "hidden", "width", "replications", "longest"})
    seed = derived_seed(paper.defaults.seed, "couplings", figure.visible, figure.hidden)
    chains = []
    for coupling in figure.couplings:
        settings = CouplingSettings(**sizes, coupling=coupling, seed=seed)
        identity = f"{figure.visible}v-{figure.hidden}h-{coupling}-couple-{settings.digest()}"
        chains.append(result.couplings.setdefault(identity, CoupledChains(identity, settings)))
    spec = _heading(result, paper, key, figure) | sizes
    spec |= {f"paper_{name}": published and getattr(published, name) for name in ("replications", "longest")}
    folders = [{"coupling": one.settings.coupling, "folder": result.coupling_folder(one.id)} for one in chains]
    ids = tuple(one.id for one in chains)
    return Result(key, paper.key, figure.kind, spec | {"couplings": folders}, couplings=ids)


def _run_times(
    result: Plan, paper: Paper, base: Paper, key: str, table: RunTimes, published: RunTimes | None
) -> Result:
    """Return a table of run times; the runs of its panel, and the evaluation of the reference, added to the plan."""
    figure, panel = paper.timed_panel(table)
    runs = _runs(result, paper, panel, table.algorithms or paper.algorithms_of(figure, panel))
    evaluation = _evaluation(result, paper, panel, runs[table.reference])
    timed = base.timed_panel(published) if published else None
    spec = _heading(result, paper, key, table) | {"panel": table.panel, "reference": table.reference}
    spec |= _trained(paper, base, panel, timed and timed[1], runs)
    spec["evaluate_every"] = panel.evaluate_every or paper.defaults.evaluate_every
    spec["runs"] = _labelled(paper, {a: result.run_folder(run.id) for a, run in runs.items()})
    spec["evaluation"] = evaluation and {"folder": result.evaluation_folder(evaluation.id)}
    evaluations = (evaluation.id,) if evaluation else ()
    return Result(key, paper.key, table.kind, spec, tuple(run.id for run in runs.values()), evaluations=evaluations)


def _bias_variance(
    result: Plan, paper: Paper, base: Paper, key: str, table: BiasVariance, published: BiasVariance | None
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
    spec = _heading(result, paper, key, table) | {"rows": rows}
    return Result(key, paper.key, table.kind, spec, unique(runs), unique(estimates))


def _measured(result: Plan, paper: Paper, algorithm: str, estimate: Estimate) -> dict[str, Any]:
    """Return what the spec of a table says of one estimator of a row."""
    chosen = paper.algorithms[algorithm]
    folder, k = result.gradient_folder(estimate.id), chosen.stages[0].options.get("k")
    return {"algorithm": algorithm, "label": chosen.label, "k": k, "folder": folder}


def _ground_truths(result: Plan, paper: Paper, table: BiasVariance, row: Panel, run: Run) -> tuple[str, ...]:
    """Return the ids of a row's ground truths: by parallel tempering, and exact where that can be computed."""
    seed = derived_seed(paper.defaults.seed, "ground_truth", row.data, row.hidden)
    chosen = [GroundTruthSettings(method="parallel_tempering", seed=seed, **table.ground_truth.model_dump())]
    if min(row.hidden, paper.data[row.data].visible) <= ENUMERABLE_UNITS:
        chosen.insert(0, GroundTruthSettings(method="exact"))
    ids = []
    for settings in chosen:
        digest = digest_of(run.id, settings.canonical())
        identity = f"{row.data}-{row.hidden}h-{settings.method}-truth-{digest}"
        result.ground_truths.setdefault(identity, GroundTruth(identity, run.id, settings))
        ids.append(identity)
    return tuple(ids)


def _estimate(
    result: Plan, paper: Paper, table: BiasVariance, row: Panel, run: Run, algorithm: str, truths: tuple[str, ...]
) -> Estimate:
    """Return the estimates of one algorithm for a row, added to the plan; all algorithms see the same mini-batches."""
    settings = EstimateSettings(
        estimator=_schedule(paper.algorithms[algorithm], row)[0].estimator,
        batch=paper.data[row.data].batch,
        estimates=table.estimates,
        seed=derived_seed(paper.defaults.seed, "estimates", row.data, row.hidden),
    )
    digest = digest_of(run.id, settings.canonical(), *truths)
    identity = f"{row.data}-{row.hidden}h-{algorithm}-bias-{digest}"
    return result.estimates.setdefault(identity, Estimate(identity, run.id, settings, truths))


def _heading(result: Plan, paper: Paper, key: str, what: Any) -> dict[str, Any]:
    """Return what the specs of figures and tables have in common."""
    return {"key": key, "paper": paper.key, "title": what.title, "kind": what.kind, "scale": result.scale}


MAKERS = {
    "learning_curves": _learning_curves,
    "coupling_times": _coupling_times,
    "bias_variance": _bias_variance,
    "run_times": _run_times,
}
