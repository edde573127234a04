# SPDX-License-Identifier: BSD-3-Clause
"""Log-likelihoods of runs that are too large for an exact partition function, by annealed importance sampling.

The snapshots of a run are evaluated apart from training: another budget of the annealing does not train anew.
"""

from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from rbmbench import datasets
from rbmbench.base.settings import HELD_OUT, AnnealingSettings
from rbmbench.io import results
from rbmbench.io.layout import CURVE
from rbmbench.jobs import probes
from rbmbench.jobs._base import REGISTRY, JobKind, Task, check_width, spent
from rbmbench.jobs._costs import evaluations, likelihood_of_rows, measuring, snapshots
from rbmbench.jobs.fingerprints import UNKNOWN
from rbmbench.kernels import backend_name, backends
from rbmbench.model.work import Counter, Work, product, times
from rbmbench.training import extension
from rbmbench.training.snapshots import annealed_curve


@REGISTRY.register
class EvaluateJob(JobKind):
    """The annealed likelihoods of the snapshots of a run; its files hold the diagnostics of training as well."""

    Settings = AnnealingSettings
    folder, files = "evaluations", (CURVE,)
    rule, infix, title = "evaluate_run", "ais", "annealing"
    summary = "evaluate snapshots by annealed importance sampling"
    takes_gpu = True
    extends = True

    def compute(self, task):
        """See `JobKind`."""
        dataset = datasets.read_file(task.data)
        run, kept = results.read_meta(task.model), results.read_snapshots(task.model)
        diagnostics, models = results.read_table(task.model, CURVE), kept["snapshot_W"]
        check_width(models, dataset, task.model)
        # Two matrix products per step, for all trials of a snapshot.
        chosen = backends.choose(task.backend, 4.0 * task.settings.particles * models.size / len(models))
        array = chosen.arrays.empty(0)
        earlier = None
        if task.extends and task.code != UNKNOWN:
            like = f"{task.model.name.rpartition('-')[0]}-*"
            alike = {"settings": task.settings.model_dump(mode="json"), "code": task.code, "data": dataset.provenance}
            alike |= {"backend": backend_name(array)}
            known = diagnostics["metric"].unique()
            earlier = extension.earlier_evaluation(task.extends, like, run, alike, known)
        with task.owned(self.files):
            trials = earlier.trials if earlier else 0
            curve, seconds = (earlier.curve, earlier.spent) if earlier else (None, {})
            if trials < run["settings"]["trials"]:
                new, took = _annealed(task, dataset, run, kept, trials, chosen.arrays)
                curve = pd.concat([curve, new]).sort_values(["metric", "iteration", "trial"], ignore_index=True)
                seconds = {name: seconds.get(name, 0.0) + value for name, value in took.items()}
            own = task.meta(dataset.provenance, array) | {"backend_reason": chosen.reason}
            if earlier:
                own["parts"] = earlier.parts(run, own)
            results.write_table(task.out / CURVE, pd.concat([curve, diagnostics], ignore_index=True))
            meta = run | {"wall": run["wall"] | seconds, "evaluation": own | {"job": self.name}}
            results.write_meta(task.out, self.files, meta)

    def work(self, settings, sizes, pilot=False):
        """See `JobKind`."""
        rows, m, n, run = sizes.rows, sizes.m, sizes.n, sizes.run
        chains = settings.particles * settings.temperatures
        each = Counter({"row": chains, "unit": chains * (m + 2 * n), "call": settings.temperatures})
        each[product(m, n, settings.particles)] += 4 * chains * m * n
        each.update(likelihood_of_rows(rows, m, n))
        kept = 4 * run.trials * m * n * snapshots(run, m) + 16 * run.trials * settings.particles * (m + n)
        memory = {"process": 1, "kept entry": rows * m, "byte": kept}
        return Work(measuring(times(each, run.trials * evaluations(run))), memory)

    def probe(self, settings, visible, hidden, precision):
        """See `JobKind`."""
        rbm, rows = probes.models(visible, hidden, precision), probes.rows(visible)
        kept = {f"snapshot_{name}": part[None] for name, part in rbm.parameters._asdict().items()}
        kept["snapshot_iterations"] = np.array([1])
        return probes.by_column(annealed_curve(kept, rows, settings, {"test": rows[: probes.UNSEEN]}), "metric")


def _annealed(
    task: Task,
    dataset: datasets.Dataset,
    run: dict[str, Any],
    kept: dict[str, np.ndarray],
    first: int,
    arrays: ModuleType,
) -> tuple[pd.DataFrame, dict[str, float]]:
    """Return the annealed curve of the trials of a run from the trial ``first`` on, and the times that it took."""
    evaluated = [part for part in HELD_OUT if run["settings"].get(f"{part}_likelihood")]
    with task.resumable() as (checkpointer, progress):
        curve = annealed_curve(
            extension.of_trials(kept, slice(first, None)),
            dataset.train,
            task.settings,
            held_out={part: getattr(dataset, part) for part in evaluated},
            first_trial=run["settings"]["first_trial"] + first,
            threads=task.threads,
            arrays=arrays,
            progress=progress,
            checkpointer=checkpointer,
        )
    return curve, spent(checkpointer, "annealing")
