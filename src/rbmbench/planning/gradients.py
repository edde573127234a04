"""Tables of the bias and the variance of gradient estimates."""

from typing import Any

from rbmbench.base.settings import EstimateSettings, GroundTruthSettings
from rbmbench.config.paper import BiasVariance, Panel, Paper
from rbmbench.planning.jobs import Estimate, GroundTruth, Plan, Result, Run, derived_seed, digest_of, unique
from rbmbench.planning.runs import heading, planned_run, schedule

__all__ = ["ENUMERABLE_UNITS", "bias_variance"]

ENUMERABLE_UNITS = 20
"""Most units the smaller layer may have for an exact ground truth to be computed beside the sampled one."""


def bias_variance(
    result: Plan, paper: Paper, base: Paper, key: str, table: BiasVariance, published: BiasVariance | None
) -> Result:
    """Return a table of bias and variance; its models, ground truths and estimates added to the plan."""
    rows, runs, estimates = [], [], []
    for name, row in table.rows.items():
        run = planned_run(result, paper, row, table.trained_with, row.trials or table.models)
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
    spec = heading(result, paper, key, table) | {"rows": rows}
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
        estimator=schedule(paper.algorithms[algorithm], row)[0].estimator,
        batch=paper.data[row.data].batch,
        estimates=table.estimates,
        seed=derived_seed(paper.defaults.seed, "estimates", row.data, row.hidden),
    )
    digest = digest_of(run.id, settings.canonical(), *truths)
    identity = f"{row.data}-{row.hidden}h-{algorithm}-bias-{digest}"
    return result.estimates.setdefault(identity, Estimate(identity, run.id, settings, truths))
