# SPDX-License-Identifier: BSD-3-Clause
"""The training loop: shards are trained from pause to pause, with evaluations at boundaries.

In a pause the run may write a checkpoint, report progress, or stop. Pauses change no result.
"""

from concurrent.futures import ThreadPoolExecutor
from time import monotonic, perf_counter, process_time

import numpy as np

from rbmbench.base import pace
from rbmbench.base.pace import Progress
from rbmbench.base.settings import RunSettings
from rbmbench.kernels import on_host
from rbmbench.kernels.threads import map_items
from rbmbench.model.rbm import RBM
from rbmbench.training.checkpoint import Checkpointer, State
from rbmbench.training.evaluation import Curve, Evaluator
from rbmbench.training.shards import Shard


def boundaries(settings: RunSettings) -> list[int]:
    """Return the iterations at which a run is evaluated, by its settings and at the ends of stages."""
    ends = {stage.until for stage in settings.schedule}
    further = {iteration for iteration in settings.evaluate_at if iteration < settings.iterations}
    return sorted(ends | further | set(range(settings.evaluate_every, settings.iterations, settings.evaluate_every)))


class Loop:
    """A run in progress.

    Parameters of the shards are views of ``rbm``. ``evaluate`` returns the metrics;
    ``pool`` has the ``threads``: if there are more of them than shards, they share the rows of mini-batches. For
    ``progress`` see `rbmbench.training.trainer.run`.
    """

    def __init__(
        self,
        rbm: RBM,
        shards: list[Shard],
        settings: RunSettings,
        evaluate: Evaluator,
        pool: ThreadPoolExecutor,
        threads: int,
        progress: Progress | None,
    ):
        self.rbm, self.shards, self.settings, self.evaluate, self.pool = rbm, shards, settings, evaluate, pool
        self.threads, self.progress = threads, progress
        self.iteration = self.evaluated = 0
        self.spent = np.zeros(len(rbm.W))  # products of each trial until the last evaluation, undone ones included
        self.pace = pace.Pace()
        self.trials = np.concatenate([shard.trials for shard in shards])
        kinds = ("startup_seconds", "training_seconds", "training_cpu_seconds", "evaluation_seconds")
        self.seconds = dict.fromkeys(kinds, 0.0)
        self._value: list[float] = []
        self._reported_at = monotonic()

    def restore(self, saved: State | None) -> None:
        """Resume from a checkpoint, or evaluate the initial parameters."""
        if saved is None:
            self.curve = Curve()
            self._evaluate()
            return
        for name, array in saved["parameters"].items():
            getattr(self.rbm, name)[...] = np.asarray(array, like=self.rbm.W)
        self.curve, self.seconds, self.iteration = Curve(saved["curve"]), saved["seconds"], saved["iteration"]
        self.spent = saved["products"]
        evaluated = {boundary for boundary in boundaries(self.settings) if boundary <= self.iteration}
        self.evaluated = max(evaluated.union(saved["curve"]["iteration"].tolist()), default=0)
        self.evaluate.restore(saved["snapshots"])
        stage, first = self._stage(), 0
        for shard in self.shards:
            cut = slice(first, first + len(shard.trials))
            shard.stream.number = saved["draw"]
            # A stage that begins here starts its estimator and rule, as without the interruption.
            begins = any(self.iteration == ended.until for ended in self.settings.schedule)
            shard.enter(stage, start=begins)
            shard.sums = self._slice(saved["sums"], cut)
            if not begins:
                shard.state, shard.memory = self._slice(saved["state"], cut), self._slice(saved["memory"], cut)
            first = cut.stop

    def _slice(self, saved: dict[str, np.ndarray], cut: slice) -> dict:
        return {name: np.array(array[cut], like=self.rbm.W) for name, array in saved.items()}

    def _stage(self):
        return next((s for s in self.settings.schedule if s.until > self.iteration), self.settings.schedule[-1])

    def run(self, checkpointer: Checkpointer) -> None:
        """Train to the end, and evaluate at each boundary; may be stopped, see `Checkpointer.pause`.

        With a budget of products it ends as soon as all trials have their last models inside it, see `_train_within`.
        """
        begun, budget = self.iteration, self.settings.products
        for boundary in boundaries(self.settings):
            while self.iteration < boundary:
                where = f"iteration {self.iteration} of {self.settings.iterations}"
                checkpointer.pause(where, self.state if self.iteration > begun else None)
                if budget:
                    due = self._train_within(budget)
                else:
                    self._train_until(min(boundary, self.iteration + self.pace.steps))
                    due = False
                if due or self.iteration == boundary:
                    self._evaluate()
                elif monotonic() - self._reported_at > pace.PAUSE_SECONDS:
                    self._report()
                if budget and self.spent.min() > budget:
                    return
                if self.settings.patience and self.evaluated == self.iteration:
                    scores = self.curve.score()
                    if len(scores) - 1 - int(scores.argmax()) >= self.settings.patience:
                        return

    def _train_within(self, budget: float) -> bool:
        """Make one iteration, and undo it for trials that exceed the budget; return whether to evaluate the run.

        The cost of an iteration may depend on its result. Trials that have ended are computed, and undone, until the
        last one ends.
        """
        spent, earlier, stage = self._spent(), self.rbm.copy(), self._stage()
        before = np.minimum(spent, budget).mean()
        ends = np.cumsum([len(shard.trials) for shard in self.shards])
        for shard, remaining in zip(self.shards, np.split(budget - spent, ends[:-1]), strict=True):
            shard.enter(stage, start=True)
            shard.estimator.left = remaining
        self._train_until(self.iteration + 1)
        spent = self._spent()
        over = np.asarray(np.flatnonzero(spent > budget), like=self.rbm.W)
        for parameter, last in zip(self.rbm.parameters, earlier.parameters, strict=True):
            parameter[over] = last[over]
        after = np.minimum(spent, budget).mean()
        passed = (before < point <= after for point in self.settings.evaluate_at_products)
        return spent.min() > budget or any(passed)

    def _train_until(self, pause: int) -> None:
        started, cpu_started, stage = perf_counter(), process_time(), self._stage()

        def advance(shard: Shard) -> None:
            shard.enter(stage, start=True)
            shard.advance(self.iteration, pause)

        map_items(self.pool, self.threads, advance, self.shards)
        seconds = perf_counter() - started
        self.pace.update(pause - self.iteration, seconds)
        self.iteration = pause
        self.seconds["training_seconds"] += seconds
        self.seconds["training_cpu_seconds"] += process_time() - cpu_started

    def _evaluate(self) -> None:
        started = perf_counter()
        for shard in self.shards:
            shard.check_energies(self.iteration)
        metrics = self.evaluate(self.rbm, self.iteration) | self._diagnostics()
        if self.settings.products:
            self.spent = self._spent()
            metrics["products"] = self.spent
        self.curve.add(self.trials, self.iteration, metrics)
        self.evaluated = self.iteration
        for shard in self.shards:
            shard.sums = {}
        self.seconds["evaluation_seconds"] += perf_counter() - started
        self._value = [float(metrics["log_likelihood"].mean())] if "log_likelihood" in metrics else []
        self._report()

    def _diagnostics(self) -> dict[str, np.ndarray]:
        return _joined([shard.means(self.iteration - self.evaluated) for shard in self.shards])

    def _spent(self) -> np.ndarray:
        iterations = self.iteration - self.evaluated
        if not iterations:
            return self.spent
        diagnostics = self._diagnostics()
        shard, sizes = self.shards[0], (self.settings.batch, *self.rbm.W.shape[1:])
        means = [{name: float(values[t]) for name, values in diagnostics.items()} for t in range(len(self.spent))]
        return self.spent + [iterations * shard.update.products(shard.estimator, *sizes, mean) for mean in means]

    def _report(self) -> None:
        self._reported_at = monotonic()
        if self.progress:
            self.progress(self.iteration, self.settings.iterations, *self._value)

    def state(self) -> State:
        """Return the parameters, the state of the estimator, the memory of the update rule, and the measurements."""
        return {
            "parameters": self.rbm.on_host().parameters._asdict(),
            "state": _joined([shard.state for shard in self.shards]),
            "memory": _joined([shard.memory for shard in self.shards]),
            "sums": _joined([shard.sums for shard in self.shards]),
            "curve": self.curve.columns(),
            "snapshots": self.evaluate.snapshots(),
            "iteration": self.iteration,
            "products": self.spent,
            "draw": self.shards[0].stream.number,
            "seconds": self.seconds,
        }


def _joined(parts: list[dict]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([on_host(shard[name]) for shard in parts]) for name in parts[0]}
