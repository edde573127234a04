# SPDX-License-Identifier: BSD-3-Clause
"""Training iterations of several algorithms on one data set, timed side by side.

All other jobs compute the same at every call; this one measures the machine. Its fingerprint depends on the
trained parameters, not on their speed.
"""

from functools import partial

import pandas as pd
from threadpoolctl import threadpool_limits

from rbmbench.base.settings import TimingSettings
from rbmbench.io.layout import TIMES
from rbmbench.jobs import probes
from rbmbench.jobs._base import Measurement, Results
from rbmbench.jobs._costs import measuring
from rbmbench.jobs._registry import REGISTRY, of_name
from rbmbench.model.sparse_rows import training_rows
from rbmbench.model.work import Counter, Work, default_seconds, times
from rbmbench.training.timing import Steps, iterations_within, one_round


@REGISTRY.register
class TimingJob(Measurement):
    """The processor seconds of an iteration of all trials, by round and algorithm."""

    Settings = TimingSettings
    folder, files = "timings", (TIMES,)
    rule, infix, title = "time_steps", "times", "timing"
    inputs = ("data",)

    def measure(self, task, rbm, dataset, progress, checkpointer):
        """See `Measurement`. Timings are not resumed: rounds of two processes are no pairs."""
        settings, rows = task.settings, training_rows(dataset.train, "training data")
        begin = {name: partial(Steps, settings.run(name), rows) for name in settings.algorithms}
        lines = []
        with threadpool_limits(1):
            counts = {name: iterations_within(begin[name](), settings.seconds) for name in begin}
            for number in range(settings.rounds):
                checkpointer.pause(f"round {number} of {settings.rounds}", None)
                progress(number, settings.rounds)
                seconds = one_round(begin, counts, number)
                lines += [(name, number, counts[name], seconds[name]) for name in begin]
        columns = ["algorithm", "round", "iterations", "seconds_per_iteration"]
        return Results({TIMES: pd.DataFrame(lines, columns=columns)}, {"trials": settings.trials})

    def parts(self, settings, sizes):
        return 1, 1

    def work(self, settings, sizes, pilot=False):
        counts = Counter()
        for name in settings.algorithms:
            run_work = of_name("train").work(settings.run(name), sizes)
            step = run_work.stages["training"]
            turn = 2 + settings.seconds / default_seconds(Work({"training": step}, {}))
            counts.update(times(step, settings.rounds * turn))
        return Work(measuring(counts), run_work.memory)

    def reduced(self, settings, values):
        return {"data": {"name": "probe"}, "batch": probes.BATCH, "trials": probes.TRIALS, "seconds": 1.0}

    def probe(self, settings, visible, hidden, precision):
        small = settings.model_copy(update={"hidden": hidden, "precision": precision})
        trained = {name: Steps(small.run(name), probes.rows(visible)) for name in settings.algorithms}
        for steps in trained.values():
            steps.advance(2)
        return {f"{name} {key}": p for name in trained for key, p in trained[name].rbm.parameters._asdict().items()}
