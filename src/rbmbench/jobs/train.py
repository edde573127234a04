# SPDX-License-Identifier: BSD-3-Clause
"""Training runs: all trials of one algorithm on one data set at one rate."""

import numpy as np
import pandas as pd

from rbmbench import datasets, estimators, updates
from rbmbench.base.settings import RunSettings
from rbmbench.io import provenance, results
from rbmbench.io.layout import CURVE, MODEL
from rbmbench.io.meta import STOPPING_TIME
from rbmbench.io.results import MODEL_ARRAYS
from rbmbench.jobs import probes
from rbmbench.jobs._base import JobKind, gathered_meta
from rbmbench.jobs._costs import enumerated_bytes, evaluation, evaluations, snapshots
from rbmbench.jobs._registry import REGISTRY
from rbmbench.jobs.fingerprints import fingerprint
from rbmbench.model.work import Counter, Work, enumerated_steps, product, times
from rbmbench.training import trainer
from rbmbench.training.evaluation import in_order
from rbmbench.training.shards import trials_of_shard

TRIAL_AXES = {"W": 0, "b": 0, "c": 0, "snapshot_W": 1, "snapshot_b": 1, "snapshot_c": 1}
"""Axes of the trials in the arrays of a run."""


@REGISTRY.register
class TrainJob(JobKind):
    """A training run."""

    Settings = RunSettings
    folder, files = "runs", (CURVE, MODEL)
    rule, infix, title = "train_run", "", "training"
    inputs = ("data",)
    takes_gpu = True

    def compute(self, task, dataset=None):
        """See `JobKind`; ``dataset`` is that of the task's file, if it has been read already."""
        dataset, before = dataset or datasets.read_file(task.data), provenance.seconds_since_start()
        if task.block:
            first, count = task.block
            update = {"first_trial": task.settings.first_trial + first, "trials": count}
            task.settings = task.settings.model_copy(update=update)
        settings, name = task.settings, task.run_id or task.out.absolute().name
        task.code = fingerprint(settings, dataset.train.shape[1])
        with task.owned(self.files):
            with task.stoppable(name) as (stopping, progress):
                result = trainer.run(
                    dataset.train,
                    settings,
                    checkpoint=task.checkpoint,
                    progress=progress,
                    threads=task.threads,
                    backend=task.backend,
                    validation=dataset.validation,
                    test=dataset.test,
                    checkpoint_seconds=task.checkpoint_seconds,
                    stopping=stopping,
                )
            wall, rbm = dict(result.timings), result.rbm
            wall["startup_seconds"] += before
            wall["total_seconds"] = sum(wall[f"{stage}_seconds"] for stage in ("startup", "training", "evaluation"))
            iterations = result.meta["iterations"]
            meta = task.meta(dataset.provenance, rbm.W) | result.backend | _mean_diagnostics(result.curve)
            meta |= {"run": name, "job": self.name, "wall": wall, "iterations": iterations, "trials": settings.trials}
            model = {"W": rbm.W, "b": rbm.b, "c": rbm.c, "iteration": iterations, "seed": settings.seed}
            self._write(task, {CURVE: result.curve, MODEL: model | result.snapshots}, meta)

    def parts(self, settings, sizes):
        """See `JobKind`. Trials with a budget of products, or with patience, end at the same iteration."""
        return (1 if settings.products or settings.patience else settings.trials), 1

    def of_any_trials(self, settings):
        return settings.model_copy(update={"trials": 1})

    def gather(self, task, folders):
        metas = [results.read_meta(path) for path in folders]
        curves = [results.read_table(path, CURVE) for path in folders]
        arrays = [results.read_arrays(path / MODEL, MODEL_ARRAYS) for path in folders]
        curve = in_order(pd.concat(curves))
        model = dict(arrays[0])
        for name, axis in TRIAL_AXES.items():
            if name in model:
                model[name] = np.concatenate([block[name] for block in arrays], axis=axis)
        meta = gathered_meta(task, metas) | _mean_diagnostics(curve)
        meta |= {"run": task.run_id or task.out.absolute().name, "trials": task.settings.trials}
        self._write(task, {CURVE: curve, MODEL: model}, meta)

    def work(self, settings, sizes, pilot=False):
        rows, m, n, trials = sizes.rows, sizes.m, settings.hidden, settings.trials
        steps, before, budget = Counter(), 0, settings.products
        for stage in settings.schedule:
            rule = updates.REGISTRY.create(stage.update.name, stage.update.options)
            estimator = estimators.create(stage.estimator.name, **stage.estimator.options)
            diagnostics = {**estimator.assumed(settings.batch), **sizes.expected}
            cost = rule.cost(estimator, settings.batch, m, n, diagnostics)
            chains = stage.estimator.options.get("chains") or settings.batch
            size = trials_of_shard(max(settings.batch, chains), m, n, np.dtype(settings.precision).itemsize)
            counts = times(cost, trials) | {"call": cost["call"] * -(-trials // min(size, trials))}
            iterations: float = stage.until - before
            if budget is not None:
                products = rule.products(estimator, settings.batch, m, n, diagnostics)
                iterations = min(iterations, budget / products)
                budget -= iterations * products
            steps.update(times(counts, iterations))
            steps["parameter"] += iterations * trials * m * n
            before = stage.until
        stages = {
            "startup": {"start": 1, "read entry": rows * m},
            "training": steps,
            "evaluation": times(_one_evaluation(settings, rows, m), trials * evaluations(settings)),
        }
        states = 16 * trials * settings.most_rows * (m + n)
        models = 8 * trials * m * n * (2 + snapshots(settings, m))
        kept = {"process": 1, "kept entry": rows * m, "byte": states + models + enumerated_bytes(m, n)}
        return Work(stages, kept)

    def reduced(self, settings, values):
        small = {"data": {"name": "probe"}, "hidden": probes.HIDDEN, "batch": probes.BATCH, "trials": probes.TRIALS}
        small |= {"first_trial": 0, "evaluate_every": 2, "evaluate_at": []}
        stages = enumerate(values["schedule"], 1)
        small["schedule"] = [stage | {"until": 2 * number, "rate": 0.1} for number, stage in stages]
        if settings.proxy:
            small["proxy"] = values["proxy"] | {"rows": probes.MOST}
        return small

    def probe(self, settings, visible, hidden, precision):
        small, rows = settings.model_copy(update={"hidden": hidden, "precision": precision}), probes.rows(visible)
        few = rows[: probes.UNSEEN]
        result = trainer.run(rows, small, backend="numpy", validation=few, test=few)
        return probes.by_column(result.curve, "metric") | result.rbm.parameters._asdict() | result.snapshots


def is_countable(settings: RunSettings, expected: dict[str, float]) -> bool:
    """Return whether the operations of a run follow from its settings and from the expected diagnostics."""
    names = (estimators.REGISTRY.get(stage.estimator.name).cost_depends_on for stage in settings.schedule)
    return all(name in expected for stage_names in names for name in stage_names)


def _one_evaluation(settings: RunSettings, rows: int, m: int) -> Counter:
    """Return the operations of one evaluation of one model: likelihood, its proxy, bias of CD."""
    n, counts = settings.hidden, Counter(evaluation(rows, m, settings.hidden))
    if settings.proxy is not None:
        chains, steps = (settings.proxy.rows or rows) * settings.proxy.chains, settings.proxy.steps
        units = chains * (steps * (m + n) + m)
        counts.update({product(m, n, chains): chains * 4 * m * n * (steps + 1), "row": chains * steps, "unit": units})
    if settings.bias_bound is not None:
        k = settings.bias_bound.k or settings.schedule[-1].estimator.options.get("k", 1)
        counts.update(enumerated_steps(k, m, n))
    return counts


def _mean_diagnostics(curve: pd.DataFrame) -> dict[str, float]:
    """Return the diagnostics that the cost of a run follows from, if it has them: means over trials and iterations."""
    values = curve.loc[curve["metric"] == STOPPING_TIME, "value"]
    return {} if values.empty else {STOPPING_TIME: float(values.mean())}
