# SPDX-License-Identifier: BSD-3-Clause
"""Stopping times of coupled chains of a random model: no data, no training."""

import math

import pandas as pd

from rbmbench.base.settings import CouplingSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.io.layout import STOPPING_TIMES
from rbmbench.jobs import probes
from rbmbench.jobs._base import Measurement, Results
from rbmbench.jobs._costs import measuring
from rbmbench.jobs._registry import REGISTRY
from rbmbench.measurements import meeting_times
from rbmbench.measurements.meeting_times import PAIRS
from rbmbench.model.work import ASSUMED_STOPPING_TIME, Counter, Work, product
from rbmbench.samplers import stopping_times

PILOT_PAIRS, PILOT_STEPS, PILOT_PRODUCTS = 20, 1000, 10**9
"""Pairs of chains of a pilot, and the limits of its steps and multiplications."""


@REGISTRY.register
class CoupleJob(Measurement):
    """Pairs of coupled chains of a random model, run until they meet."""

    Settings = CouplingSettings
    folder, files = "couplings", (STOPPING_TIMES,)
    rule, infix, title = "couple_chains", "couple", "coupled chains"
    inputs = ()

    def measure(self, task, rbm, dataset, progress, checkpointer):
        times = meeting_times.coupled_stopping_times(task.settings, checkpointer, task.chosen)
        first = PAIRS * (task.chosen.start or 0)
        table = pd.DataFrame({"chain": range(first, first + len(times)), "stopping_time": times})
        return Results({STOPPING_TIMES: table})

    def parts(self, settings, sizes):
        """See `JobKind`; a part is a number of pairs that run together."""
        return -(-settings.replications // PAIRS), 1

    def work(self, settings, sizes, pilot=False):
        m, n = settings.visible, settings.hidden
        mean = meeting_steps(settings) if pilot else sizes.expected.get("stopping_time", ASSUMED_STOPPING_TIME)
        steps = settings.replications * mean
        counts = Counter({"pair": steps, "pair unit": (m + n) * steps})
        counts[product(m, n, settings.replications)] += 2 * m * n * 2 * steps
        return Work(measuring(counts), {"process": 1, "byte": 16 * settings.replications * (m + n)})

    def reduced(self, settings, values):
        return {"visible": probes.VISIBLE, "hidden": probes.MANY_HIDDEN, "longest": 100}

    def probe(self, settings, visible, hidden, precision):
        rbm, start = meeting_times.start_of(settings)
        stream = Stream(settings.seed, [0], Purpose.TRAINING)
        parts = rbm.astype(precision), start.astype(precision), settings.coupling, settings.longest, stream
        return {"stopping_times": stopping_times(*parts)[0]}


def meeting_steps(settings: CouplingSettings) -> float:
    """Return the mean number of steps until pairs of coupled chains meet or are cut, estimated by a few pairs.

    Pairs that have not met in the pilot are assumed to meet later at the same rate.
    """
    pairs = min(PILOT_PAIRS, settings.replications)
    steps = max(2, min(PILOT_STEPS, PILOT_PRODUCTS // (pairs * settings.visible * settings.hidden)))
    pilot = settings.model_copy(update={"replications": pairs, "longest": min(steps, settings.longest)})
    times = meeting_times.coupled_stopping_times(pilot)
    if not (met := (times < pilot.longest).sum()):
        return settings.longest
    rate = met / times.sum()
    return -math.expm1(-rate * settings.longest) / rate
