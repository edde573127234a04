# SPDX-License-Identifier: BSD-3-Clause
"""Training runs: all trials of one algorithm on one data set at one rate."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rbmbench import datasets, estimators, updates
from rbmbench.base.settings import RunSettings
from rbmbench.io import provenance, results
from rbmbench.io.layout import CURVE, MODEL, STATE
from rbmbench.io.meta import STOPPING_TIME
from rbmbench.jobs import probes
from rbmbench.jobs._base import REGISTRY, JobKind, Task
from rbmbench.jobs._costs import enumerated_bytes, evaluation, evaluations, snapshots
from rbmbench.jobs.fingerprints import UNKNOWN
from rbmbench.kernels import backend_name, backends
from rbmbench.model.work import Counter, Work, enumerated_steps, product, times
from rbmbench.training import extension, trainer
from rbmbench.training.run import TrainingResult
from rbmbench.training.shards import trials_of_shard


@REGISTRY.register
class TrainJob(JobKind):
    """A training run."""

    Settings = RunSettings
    folder, files = "runs", (CURVE, MODEL)
    rule, infix, title = "train_run", "", "training"
    summary = "train all trials of a run, or resume it from its checkpoint"
    inputs = ("data",)
    takes_gpu = True
    extends = True

    def compute(self, task, dataset=None):
        """Train a run, and write its folder; ``dataset`` is that of the task's file, if it has been read already."""
        dataset = dataset or datasets.read_file(task.data)
        settings, name = task.settings, task.run_id or task.out.absolute().name
        before = provenance.seconds_since_start()
        earlier, begun = _earlier(task, dataset)
        left = extension.missing(settings, earlier) if earlier else settings
        if earlier and left and task.checkpoint:
            task.checkpoint = task.checkpoint.with_stem(f"{task.checkpoint.stem}-from-{left.first_trial}")
        with task.owned(self.files):
            # The state of some trials is not that of the run.
            state = task.out / STATE if task.keep_state and not earlier else None
            result = _newly_trained(task, left, dataset, name, begun, state) if left else earlier
            if earlier and left:
                result = extension.joined(earlier, result)
            wall, rbm = dict(result.timings), result.rbm
            wall["startup_seconds"] += before
            wall["total_seconds"] = sum(wall[f"{stage}_seconds"] for stage in ("startup", "training", "evaluation"))
            iterations = result.meta["iterations"]
            model = {"W": rbm.W, "b": rbm.b, "c": rbm.c, "iteration": iterations, "seed": settings.seed}
            more = {"run": name, "wall": wall, "iterations": iterations, "trials": settings.trials, "job": self.name}
            more |= _mean_diagnostics(result.curve)
            meta = task.meta(dataset.provenance, rbm.W) | result.backend | more
            if earlier:
                meta["parts"] = extension.parts_of(earlier, settings.trials, meta)
            elif begun:
                meta["parts"] = extension.parts_in_time(begun, meta)
            results.write_table(task.out / CURVE, result.curve)
            results.write_arrays(task.out / MODEL, model | result.snapshots)
            results.write_meta(task.out, self.files, meta)

    def work(self, settings, sizes, pilot=False):
        """See `JobKind`."""
        rows, m, n, trials = sizes.rows, sizes.m, settings.hidden, settings.trials
        steps, before = Counter(), 0
        for stage in settings.schedule:
            rule, estimator = updates.REGISTRY.create(stage.update.name, stage.update.options), None
            estimator = estimators.create(stage.estimator.name, **stage.estimator.options)
            cost = rule.cost(estimator, settings.batch, m, n, sizes.expected)
            chains = stage.estimator.options.get("chains") or settings.batch
            size = trials_of_shard(max(settings.batch, chains), m, n, np.dtype(settings.precision).itemsize)
            of_trials = times(cost, trials) | {"call": cost["call"] * -(-trials // min(size, trials))}
            steps.update(times(of_trials, stage.until - before))
            before = stage.until
        steps["parameter"] += settings.iterations * trials * m * n
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
        """See `JobKind`."""
        small = {"data": {"name": "probe"}, "hidden": probes.HIDDEN, "batch": probes.BATCH, "trials": probes.TRIALS}
        small |= {"first_trial": 0, "evaluate_every": 2, "evaluate_at": []}
        stages = enumerate(values["schedule"], 1)
        small["schedule"] = [stage | {"until": 2 * number, "rate": 0.1} for number, stage in stages]
        if settings.proxy:
            small["proxy"] = values["proxy"] | {"rows": probes.MOST}
        return small

    def probe(self, settings, visible, hidden, precision):
        """See `JobKind`."""
        own, rows = settings.model_copy(update={"hidden": hidden, "precision": precision}), probes.rows(visible)
        few = rows[: probes.UNSEEN]
        result = trainer.run(rows, own, backend="numpy", validation=few, test=few)
        return probes.by_column(result.curve, "metric") | result.rbm.parameters._asdict() | result.snapshots


def is_countable(settings: RunSettings, expected: dict[str, float]) -> bool:
    """Return whether the operations of a run follow from its settings and from the diagnostics that are known."""
    names = (estimators.REGISTRY.get(stage.estimator.name).cost_depends_on for stage in settings.schedule)
    return all(name in expected for of_stage in names for name in of_stage)


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


def _earlier(task: Task, dataset: datasets.Dataset) -> tuple[TrainingResult | None, tuple[Path, RunSettings] | None]:
    """Return a run that has some of the trials, or the state of one that has the first iterations, if there is one."""
    settings: Any = task.settings
    # Trials that end with a budget of products end where the last of them has spent it.
    if not task.extends or task.code == UNKNOWN or settings.products:
        return None, None
    chosen = backends.choose(task.backend, backends.work(settings, dataset.train.shape[1]))
    meta = {"code": task.code, "data": dataset.provenance, "backend": backend_name(chosen.arrays.empty(0))}
    # Ids of the workflow differ in their digest alone where settings differ in the number of trials or iterations.
    like = f"{task.run_id.rpartition('-')[0]}-*" if task.run_id else "*"
    earlier = extension.earlier_run(task.extends, like, settings, meta)
    return earlier, None if earlier else extension.earlier_state(task.extends, like, settings, meta)


def _newly_trained(
    task: Task,
    settings: RunSettings,
    dataset: datasets.Dataset,
    name: str,
    begun: tuple[Path, RunSettings] | None,
    state: Path | None,
) -> TrainingResult:
    with task.stoppable(name) as (stopping, progress):
        return trainer.run(
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
            begun=begun,
            state=state,
        )
