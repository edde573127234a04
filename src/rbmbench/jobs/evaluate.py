# SPDX-License-Identifier: BSD-3-Clause
"""Log-likelihoods of runs that are too large for an exact partition function, by annealing or tempered chains.

The snapshots of a run are evaluated in jobs of their own, so that another estimate of log Z needs no training.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from rbmbench import datasets
from rbmbench.base.errors import SettingsError
from rbmbench.base.settings import HELD_OUT, AnnealingSettings
from rbmbench.io import results
from rbmbench.io.layout import CURVE
from rbmbench.jobs import probes
from rbmbench.jobs._base import JobKind, Task, check_width, gathered_meta, spent
from rbmbench.jobs._costs import evaluations, likelihood_of_rows, measuring, snapshots
from rbmbench.jobs._registry import REGISTRY
from rbmbench.jobs.fingerprints import fingerprint
from rbmbench.kernels import backends
from rbmbench.model.work import Counter, Work, product, times
from rbmbench.training.evaluation import in_order
from rbmbench.training.snapshots import annealed_curve

SPENT = "annealing_seconds", "annealing_cpu_seconds"
TEMPERED_ROWS = 320  # chains of a model, about


@REGISTRY.register
class EvaluateJob(JobKind):
    """The annealed likelihoods of the snapshots of a run; its files hold the diagnostics of training as well."""

    Settings = AnnealingSettings
    folder, files = "evaluations", (CURVE,)
    rule, infix, title = "evaluate_run", "ais", "annealing"
    takes_gpu = True

    def compute(self, task, dataset=None):
        """See `JobKind`; ``dataset`` is that of the task's file, if it has been read already."""
        task.code, dataset = fingerprint(task.settings), dataset or datasets.read_file(task.data)
        run, snapshots = results.read_meta(task.model), results.read_snapshots(task.model)
        all_snapshots = len(snapshots["snapshot_iterations"])
        check_width(snapshots["snapshot_W"], dataset, task.model)
        per_trial = 1 if run["settings"].get("products") else all_snapshots
        task.check_block(parts := run["settings"]["trials"] * per_trial)
        first, count = task.block or (0, parts)
        if count > per_trial and (first % per_trial or count % per_trial):
            message = f"must be whole trials, of {per_trial} snapshots, or part of one, got {first}-{count}"
            raise SettingsError(f"--block: {message}")
        (trial, snapshot), trials = divmod(first, per_trial), max(1, count // per_trial)
        chosen_trials, chosen_snapshots = slice(trial, trial + trials), slice(snapshot, snapshot + count)
        if count >= per_trial:
            chosen_snapshots = slice(None)
        snapshots = {
            name: array[chosen_snapshots] if array.ndim == 1 else array[chosen_snapshots, chosen_trials]
            for name, array in snapshots.items()
        }
        # Two matrix products per step, for all trials of a snapshot.
        models = snapshots["snapshot_W"]
        rows = TEMPERED_ROWS if task.settings.tempering else task.settings.particles
        chosen = backends.choose(task.backend, 4.0 * rows * models.size / len(models))
        held_out = [part for part in HELD_OUT if run["settings"].get(f"{part}_likelihood")]
        with task.owned(self.files):
            with task.resumable() as (checkpointer, progress):
                curve = annealed_curve(
                    snapshots,
                    dataset.train,
                    task.settings,
                    held_out={part: getattr(dataset, part) for part in held_out},
                    first_trial=run["settings"]["first_trial"] + trial,
                    first_snapshot=snapshot,
                    all_snapshots=all_snapshots,
                    threads=task.threads,
                    arrays=chosen.arrays,
                    progress=progress,
                    checkpointer=checkpointer,
                )
            evaluation = task.meta(dataset.provenance, chosen.arrays.empty(0))
            evaluation |= {"backend_reason": chosen.reason, "job": self.name, "trials": trials}
            self._write_evaluation(task, run, curve, evaluation, spent(checkpointer, "annealing"))

    def _write_evaluation(self, task: Task, run: Mapping, curve: pd.DataFrame, meta: Mapping, wall: Mapping) -> None:
        whole = pd.concat([curve, results.read_table(task.model, CURVE)], ignore_index=True)
        self._write(task, {CURVE: whole}, run | {"wall": run["wall"] | wall, "evaluation": meta})

    def parts(self, settings, sizes):
        """See `JobKind`. Where a budget of products ends a run, the number of its snapshots is not known before."""
        return sizes.trials, (1 if sizes.run.products else evaluations(sizes.run))

    def gather(self, task, folders):
        run, metas = results.read_meta(task.model), [results.read_meta(path) for path in folders]
        trained_metrics = set(results.read_table(task.model, CURVE)["metric"])
        curves = [results.read_table(path, CURVE) for path in folders]
        annealed = pd.concat([curve[~curve["metric"].isin(trained_metrics)] for curve in curves])
        annealings = [meta["evaluation"] | {"wall": {name: meta["wall"][name] for name in SPENT}} for meta in metas]
        gathered = gathered_meta(task, annealings)
        wall = gathered.pop("wall")
        self._write_evaluation(task, run, in_order(annealed), gathered | {"trials": run["settings"]["trials"]}, wall)

    def work(self, settings, sizes, pilot=False):
        rows, m, n, run = sizes.rows, sizes.m, sizes.n, sizes.run
        number, particles, total = evaluations(run), settings.particles, Counter()
        parts = [(number, settings.chain_steps, TEMPERED_ROWS if settings.tempering else particles)]
        if settings.compared:
            parts.append((min(settings.compared, number), particles * settings.temperatures, particles))
        for models, chains, at_once in parts:
            counts = Counter({"row": chains, "unit": chains * (m + 2 * n), "call": chains // at_once})
            counts[product(m, n, at_once)] += 4 * chains * m * n
            counts.update(likelihood_of_rows(rows, m, n))
            total.update(times(counts, run.trials * models))
        most = max(at_once for *_, at_once in parts)
        kept = np.dtype(run.precision).itemsize * run.trials * m * n * snapshots(run, m)
        memory = {"process": 1, "kept entry": rows * m, "byte": kept + 16 * run.trials * most * (m + n)}
        return Work(measuring(total), memory)

    def probe(self, settings, visible, hidden, precision):
        rbm, rows = probes.models(visible, hidden, precision), probes.rows(visible)
        kept = {f"snapshot_{name}": array[None] for name, array in rbm.parameters._asdict().items()}
        kept["snapshot_iterations"] = np.array([1])
        return probes.by_column(annealed_curve(kept, rows, settings, {"test": rows[: probes.UNSEEN]}), "metric")
