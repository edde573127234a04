# SPDX-License-Identifier: BSD-3-Clause
"""Costs of operations on a machine, fitted to recorded jobs.

The seconds of a stage are a sum of costs times counts. Costs are positive, so their logarithms are fitted, to the
logarithms of the recorded seconds, with a soft L1 loss that limits the influence of disturbed runs. Costs that the
records do not determine stay near a prior: the defaults of `rbmbench.model.work`, or costs fitted on other
machines, times one free factor for the speed of the machine.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from rbmbench.base.machine import usable_cores
from rbmbench.model.work import MEGABYTES, SECONDS, Counts, Work
from rbmbench.planning.forecast.records import Record, StoppingTimes, stopping_times

NOISE = 0.2  # standard deviation of the logarithm of the time of an undisturbed run
STARTUP_NOISE = 0.7  # the same of startup, which sometimes compiles kernels or waits for a disk
PRIOR_SPREAD = 1.0  # the same of a cost around its prior, apart from the speed of the machine
FOLDS = 20  # of the cross-validation
SLOW_GROWTH = 1.5  # residual, in standard deviations, from which the loss grows linearly
SHORT_SECONDS = 1.0  # processor seconds below which a job is mostly start-up, whose length nobody plans by
LITTLE_SECONDS = 600.0  # total recorded seconds of a machine below which a short timing is added
NAN = float("nan")

Costs = dict[str, float]


@dataclass(frozen=True)
class CostModel:
    """Costs of one machine, and how accurate they are.

    Errors are cross-validated factors of at least 1, median and 90 % quantile over the recorded jobs that took a
    processor second or more: ``off_alike`` leaves out a few jobs at a time, ``off_new`` all jobs of their data set and
    size. NaN where records are too few.
    """

    seconds: Costs  # processor seconds of each counted item
    megabytes: Costs  # of 2**20 bytes
    basis: str  # what the costs were fitted to, in words
    off_alike: tuple[float, float]
    off_new: tuple[float, float]
    clock: float  # median ratio of elapsed to processor seconds in the recorded jobs
    met: StoppingTimes = field(default_factory=dict)  # of recorded runs

    def seconds_of(self, work: Work) -> float:
        """Return the processor seconds of a job."""
        return sum(_total(self.seconds, counts) for counts in work.stages.values())

    def megabytes_of(self, work: Work) -> float:
        """Return the peak memory of a job in MB of 2**20 bytes."""
        return _total(self.megabytes, work.memory)


UNFITTED = CostModel(SECONDS, MEGABYTES, "no recorded jobs", (NAN, NAN), (NAN, NAN), NAN)
"""The default costs: no records are read, nothing is timed."""


def fitted_model(records: Sequence[Record], machine: str, calibrate: Callable[[], list[Record]]) -> CostModel:
    """Return the costs of a machine, named as in `Record.machine`, from records of any machines.

    ``calibrate`` returns records timed on this machine; it is called if less than `LITTLE_SECONDS` are recorded for it.
    """
    own = [record for record in records if record.machine == machine]
    others = [record for record in records if record.machine != machine]
    prior = _fit_seconds(others, SECONDS)
    timed = calibrate() if sum(sum(record.seconds.values()) for record in own) < LITTLE_SECONDS else []
    # Without own records, the errors on other machines still show how well the counts describe the work.
    used, start = (own, prior) if own else (others, SECONDS)
    clocks = [record.clock for record in records if np.isfinite(record.clock)]
    parts = [f"{len(own)} recorded jobs of this machine"] * bool(own)
    parts += [f"a short timing of this machine, {doing()}"] * bool(timed)
    parts += [f"{len(others)} recorded jobs of other machines"] * bool(others)
    return CostModel(
        seconds=_fit_seconds([*own, *timed], prior),
        megabytes=fit_costs([(record.work.memory, record.megabytes, NOISE) for record in records], MEGABYTES),
        basis=" and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts),
        off_alike=_quantiles(errors_left_out(used, start, lambda record: record.name)),
        off_new=_quantiles(errors_left_out(used, start, lambda record: record.problem)),
        clock=float(np.median(clocks)) if clocks else NAN,
        met=stopping_times(records),
    )


def kept_costs(records: Sequence[Record], machine: str) -> CostModel:
    """Return the costs of a machine from records alone, as `fitted_model` does, without their errors: in no time."""
    own, others = ([one for one in records if (one.machine == machine) is is_own] for is_own in (True, False))
    seconds = _fit_seconds(own, _fit_seconds(others, SECONDS))
    return CostModel(seconds, MEGABYTES, "recorded jobs", (NAN, NAN), (NAN, NAN), NAN, stopping_times(records))


def doing() -> str:
    """Return in words how busy the machine is."""
    cores = usable_cores()
    load = f"with a load of {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "under an unknown load"
    return f"{load} on {cores} core{'s' * (cores > 1)}"


def errors_left_out(records: Sequence[Record], prior: Costs, group_of: Callable[[Record], str]) -> np.ndarray:
    """Return the errors of the records' forecasts from the records of other groups; empty for a single group.

    An error is the larger of forecast / recorded and its inverse, at least 1. Jobs below `SHORT_SECONDS` have none.
    """
    groups = list(dict.fromkeys(map(group_of, records)))
    if len(groups) < 2:
        return np.empty(0)
    folds = {group: number % FOLDS for number, group in enumerate(groups)}
    ratios, start = [], _fit_seconds(records, prior)
    for fold in range(min(FOLDS, len(groups))):
        costs = _fit_seconds([record for record in records if folds[group_of(record)] != fold], prior, start)
        for record in records:
            recorded = sum(record.seconds.values())
            if folds[group_of(record)] == fold and recorded >= SHORT_SECONDS:
                ratios.append(sum(_total(costs, record.work.stages[stage]) for stage in record.seconds) / recorded)
    return np.exp(np.abs(np.log(ratios)))


def fit_costs(observations: Iterable[tuple[Counts, float, float]], prior: Costs, start: Costs | None = None) -> Costs:
    """Return positive costs whose sums over the counts fit observed positive amounts.

    Observations are (counts, amount, standard deviation of its logarithm). ``prior`` has a cost for every counted item;
    the search starts at ``start``, by default at the prior.
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
    def parts(unknowns):
        return counts * np.exp(centre + unknowns[0] + unknowns[1:])

    def residuals(unknowns):
        fit = np.log(parts(unknowns).sum(axis=1)) - observed
        return np.concatenate([weights * fit, unknowns[1:] / PRIOR_SPREAD])

    def jacobian(unknowns):
        shares = parts(unknowns)
        shares /= shares.sum(axis=1, keepdims=True)
        of_fit = weights[:, None] * np.column_stack([np.ones(len(shares)), shares])
        return np.concatenate([of_fit, np.eye(len(names) + 1)[1:] / PRIOR_SPREAD])

    first = np.log([(start or prior)[name] for name in names]) - centre
    # The matrices are small: more threads wait for each other.
    with threadpool_limits(1):
        found = least_squares(residuals, [0.0, *first], jacobian, loss="soft_l1", f_scale=SLOW_GROWTH).x
    return dict(zip(names, np.exp(centre + found[0] + found[1:]).tolist(), strict=True))


def _fit_seconds(records: Iterable[Record], prior: Costs, start: Costs | None = None) -> Costs:
    """Return the costs of operations in seconds."""
    observations = []
    for record in records:
        for stage, seconds in record.seconds.items():
            noise = STARTUP_NOISE if stage == "startup" else float(np.hypot(NOISE, record.jitter / seconds))
            observations.append((record.work.stages[stage], seconds, noise))
    return fit_costs(observations, prior, start)


def _total(costs: Costs, counts: Counts) -> float:
    return sum(costs[name] * count for name, count in counts.items())


def _quantiles(errors: np.ndarray) -> tuple[float, float]:
    """Return the median and the 90 % quantile, NaN for no errors."""
    return tuple(np.quantile(errors, (0.5, 0.9)).tolist()) if len(errors) else (NAN, NAN)
