"""What the kinds of figures and tables share: runs and evaluations of a plan, and what specs say of them."""

from collections.abc import Iterable, Mapping
from typing import Any

from rbmbench.base.settings import AnnealingSettings, Choice, RunSettings, Stage
from rbmbench.config.paper import Algorithm, Panel, Paper
from rbmbench.likelihood.exact import is_enumerable
from rbmbench.planning.jobs import Evaluation, Plan, Run, derived_seed, digest_of

__all__ = ["absent", "heading", "labelled", "planned_evaluation", "planned_run", "planned_runs", "schedule", "trained"]


def heading(result: Plan, paper: Paper, key: str, what: Any) -> dict[str, Any]:
    """Return what the specs of figures and tables have in common."""
    return {"key": key, "paper": paper.key, "title": what.title, "kind": what.kind, "scale": result.scale}


def planned_run(result: Plan, paper: Paper, panel: Panel, algorithm: str, trials: int) -> Run:
    """Return the run of one algorithm on one panel, added to the plan.

    All algorithms and rates of one data set and size have one seed: the same initial parameters and mini-batches.
    """
    entry = paper.data[panel.data]
    settings = RunSettings(
        data=Choice(name=entry.name, options=entry.options),
        hidden=panel.hidden,
        batch=panel.batch or entry.batch,
        schedule=schedule(paper.algorithms[algorithm], panel),
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


def planned_runs(result: Plan, paper: Paper, panel: Panel, algorithms: tuple[str, ...]) -> dict[str, Run]:
    """Return the runs of a panel by their algorithms, added to the plan."""
    trials = panel.trials or paper.defaults.trials
    return {algorithm: planned_run(result, paper, panel, algorithm, trials) for algorithm in algorithms}


def schedule(algorithm: Algorithm, panel: Panel) -> tuple[Stage, ...]:
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


def planned_evaluation(result: Plan, paper: Paper, panel: Panel, run: Run) -> Evaluation | None:
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


def trained(
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


def absent(what: Any, published: Any) -> list[str]:
    """Return which panels or rows of the paper's a figure or table lacks: "panel a", "row mnist_16"."""
    found = []
    for parts, word in (("panels", "panel"), ("rows", "row")):
        found += [f"{word} {name}" for name in getattr(published, parts, {}) if name not in getattr(what, parts)]
    return found


def labelled(paper: Paper, folders: Mapping[str, str]) -> list[dict[str, str]]:
    """Return what a spec says of the curves of a panel."""
    return [{"algorithm": a, "label": paper.algorithms[a].label, "folder": folder} for a, folder in folders.items()]
