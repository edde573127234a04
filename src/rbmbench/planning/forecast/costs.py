# SPDX-License-Identifier: BSD-3-Clause
"""Costs of operations on a machine, fitted to recorded jobs.

The seconds of a stage are a sum of costs times counts. Costs are positive, so their logarithms are fitted, to the
logarithms of the recorded seconds, with a soft L1 loss that limits the influence of disturbed runs. Costs that the
records do not determine remain near the defaults of `rbmbench.model.work`, times one free factor for the speed of the
machine.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from rbmbench.model.work import MEGABYTES, SECONDS, Counts, Work
from rbmbench.planning.forecast.records import Record, StoppingTimes, stopping_times

NOISE = 0.2  # standard deviation of the logarithm of the time of an undisturbed run
STARTUP_NOISE = 0.7  # the same of startup, which sometimes compiles kernels or waits for a disk
PRIOR_SPREAD = 1.0  # the same of a cost around its default, apart from the speed of the machine
SLOW_GROWTH = 1.5  # residual, in standard deviations, from which the loss grows linearly
LITTLE_SECONDS = 600.0  # total recorded seconds of a machine below which a short timing is added

Costs = dict[str, float]


@dataclass(frozen=True)
class CostModel:
    """Costs of one machine."""

    seconds: Costs  # processor seconds of each counted item
    megabytes: Costs  # of 2**20 bytes
    basis: str  # the records that the costs are fitted to, in words
    met: StoppingTimes = field(default_factory=dict)  # of recorded runs

    def seconds_of(self, work: Work) -> float:
        """Return the processor seconds of a job."""
        return sum(_total(self.seconds, counts) for counts in work.stages.values())

    def megabytes_of(self, work: Work) -> float:
        """Return the peak memory of a job in MB of 2**20 bytes."""
        return _total(self.megabytes, work.memory)


UNFITTED = CostModel(SECONDS, MEGABYTES, "no recorded jobs")  # the default costs: no records are read, nothing is timed


def fitted_model(
    records: Sequence[Record], machine: str, calibrate: Callable[[], list[Record]] | None = None
) -> CostModel:
    """Return the costs of a machine, named as in `Record.machine`.

    They are fitted to the records of this machine. ``calibrate`` returns records timed on this machine, and is called
    if less than `LITTLE_SECONDS` are recorded for it. Without either, records of other machines are used.
    """
    used = [record for record in records if record.machine == machine]
    words = [f"{len(used)} recorded jobs of this machine"] * bool(used)
    if calibrate and sum(sum(record.seconds.values()) for record in used) < LITTLE_SECONDS:
        used, words = used + calibrate(), [*words, "a short timing of this machine"]
    if not used and records:
        used, words = list(records), [f"{len(records)} recorded jobs of other machines"]
    observations = []
    for record in used:
        for stage, seconds in record.seconds.items():
            noise = STARTUP_NOISE if stage == "startup" else float(np.hypot(NOISE, record.jitter / seconds))
            observations.append((record.work.stages[stage], seconds, noise))
    return CostModel(
        seconds=fit_costs(observations, SECONDS),
        megabytes=fit_costs([(record.work.memory, record.megabytes, NOISE) for record in records], MEGABYTES),
        basis=" and ".join(words) or UNFITTED.basis,
        met=stopping_times(records),
    )


def fit_costs(observations: Iterable[tuple[Counts, float, float]], prior: Costs) -> Costs:
    """Return positive costs whose sums over the counts fit observed positive amounts.

    Observations are (counts, amount, standard deviation of its logarithm). ``prior`` has a cost for every counted item.
    """
    observations, names = list(observations), list(prior)
    if not observations:
        return dict(prior)
    from scipy.optimize import least_squares  # slow to import, and often not needed

    counts = np.array([[line.get(name, 0.0) for name in names] for line, _, _ in observations])
    observed = np.log([amount for _, amount, _ in observations])
    weights = 1 / np.array([noise for _, _, noise in observations])
    centre = np.log([prior[name] for name in names])

    # Unknowns: the logarithm of the machine's speed, then of each cost relative to the prior at that speed.
    def residuals(unknowns: np.ndarray) -> np.ndarray:
        fit = np.log(counts @ np.exp(centre + unknowns[0] + unknowns[1:])) - observed
        return np.concatenate([weights * fit, unknowns[1:] / PRIOR_SPREAD])

    # The matrices are small: more threads wait for each other.
    with threadpool_limits(1):
        fit = least_squares(residuals, np.zeros(len(names) + 1), loss="soft_l1", f_scale=SLOW_GROWTH).x
    return dict(zip(names, np.exp(centre + fit[0] + fit[1:]).tolist(), strict=True))


def _total(costs: Costs, counts: Counts) -> float:
    return sum(costs[name] * count for name, count in counts.items())
