"""Fit what operations cost on a machine, from what recorded jobs took.

Seconds of a stage are a sum of costs times counts. The costs are positive, so their logarithms are fitted, to the
logarithms of the recorded seconds; a loss that grows slowly keeps single disturbed runs from bending the fit. What the
records do not tell stays near a prior, the defaults of `rbmbench.planning.forecast.work` or costs fitted on other
machines, but for one factor that is free: how fast the machine is.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rbmbench.planning.forecast.records import Record
from rbmbench.planning.forecast.work import MEGABYTES, SECONDS, Counts, Stages

__all__ = ["UNFITTED", "CostModel", "errors_left_out", "fit_costs", "fitted_model"]

NOISE = 0.2
"""How far, as a share, the time of an undisturbed run is off."""
STARTUP_NOISE = 0.7
"""The same of a start: a few compile the kernels, or wait for a disk."""
PRIOR_SPREAD = 1.0
"""How far the logarithm of a cost may be from its prior, the speed of the machine apart."""
FOLDS = 20
"""Into how many parts records are cut, each forecast from the others."""
SLOW_GROWTH = 1.5
"""From how many times its noise on the loss of a residual grows slowly."""
LITTLE_SECONDS = 600.0
"""Records of less processor time than this do not tell what a machine costs: a short timing is added to them."""

NAN = float("nan")

Costs = dict[str, float]


@dataclass(frozen=True)
class CostModel:
    """Costs of one machine.

    Attributes
    ----------
    seconds, megabytes : dict
        Cost of an operation; need of a thing that is kept.
    basis : str
        In words, what the costs were fitted to.
    off_alike, off_new : tuple of float
        Median and 90 % quantile of how many times too long or too short forecasts of recorded jobs were when they were
        left out of the fit: a few of them, and with all others of their problem. NaN where there are too few records.
    clock : float
        Median of the seconds by the clock for each of the processor in the recorded runs.
    """

    seconds: Costs
    megabytes: Costs
    basis: str
    off_alike: tuple[float, float]
    off_new: tuple[float, float]
    clock: float

    def seconds_of(self, stages: Stages) -> float:
        """Return the processor seconds of a job."""
        return sum(_total(self.seconds, counts) for counts in stages.values())

    def megabytes_of(self, counts: Counts) -> float:
        """Return the peak memory of a job in MB of 2**20 bytes."""
        return _total(self.megabytes, counts)


UNFITTED = CostModel(SECONDS, MEGABYTES, "no recorded jobs", (NAN, NAN), (NAN, NAN), NAN)
"""The costs of a usual core: no records are read, nothing is timed."""


def fitted_model(records: Sequence[Record], machine: str, calibrate: Callable[[], list[Record]]) -> CostModel:
    """Return the costs of a machine.

    Parameters
    ----------
    records : sequence of Record
        Of any machines.
    machine : str
        The machine to forecast for, as in `Record.machine`.
    calibrate : callable
        Times some steps on this machine and returns their records; called only if little else is recorded of it.
    """
    own = [record for record in records if record.machine == machine]
    foreign = [record for record in records if record.machine != machine]
    prior = _seconds_fit(foreign, SECONDS)
    megabytes = fit_costs([(r.memory, r.megabytes, NOISE) for r in records], MEGABYTES)
    timed = calibrate() if sum(sum(r.seconds.values()) for r in own) < LITTLE_SECONDS else []
    # Errors are those of the records at hand; another machine's tell at least how well the counts describe the work.
    used, start = (own, prior) if own else (foreign, SECONDS)
    clocks = [record.clock for record in records if np.isfinite(record.clock)]
    return CostModel(
        _seconds_fit([*own, *timed], prior),
        megabytes,
        _basis(len(own), len(foreign), bool(timed)),
        _quantiles(errors_left_out(used, start, lambda record: record.name)),
        _quantiles(errors_left_out(used, start, lambda record: record.problem)),
        float(np.median(clocks)) if clocks else NAN,
    )


def _basis(own: int, foreign: int, timed: bool) -> str:
    """Return in words what the costs of a machine were fitted to."""
    parts = [f"{own} recorded jobs of this machine"] * bool(own) + ["a short timing of this machine"] * timed
    parts += [f"{foreign} recorded jobs of other machines"] * bool(foreign)
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def errors_left_out(records: Sequence[Record], prior: Costs, group_of: Callable[[Record], str]) -> np.ndarray:
    """Return, for each record, how many times too long or too short it is forecast from those of other groups.

    Returns
    -------
    ndarray
        At least 1; empty where all records are of one group.
    """
    names = list(dict.fromkeys(map(group_of, records)))
    folds = {name: number % FOLDS for number, name in enumerate(names)}
    if len(names) < 2:
        return np.empty(0)
    ratios, start = [], _seconds_fit(records, prior)
    for fold in sorted(set(folds.values())):
        left_out = [record for record in records if folds[group_of(record)] == fold]
        costs = _seconds_fit([record for record in records if folds[group_of(record)] != fold], prior, start)
        for record in left_out:
            forecast = sum(_total(costs, counts) for counts in record.stages.values())
            ratios.append(forecast / sum(record.seconds.values()))
    return np.exp(np.abs(np.log(ratios)))


def fit_costs(lines: Iterable[tuple[Counts, float, float]], prior: Costs, start: Costs | None = None) -> Costs:
    """Return positive costs whose sums over the counts come close to what was observed.

    Parameters
    ----------
    lines : iterable of (counts, observed, noise)
        Observed amounts are positive; the noise is that of their logarithms.
    prior : dict
        A cost for every name that the counts have.
    start : dict, optional
        Where to look first; by default at the prior.
    """
    lines, names = list(lines), list(prior)
    if not lines:
        return dict(prior)

    from scipy.optimize import least_squares  # takes longer to import than all that needs no fit

    counts = np.array([[line.get(name, 0.0) for name in names] for line, _, _ in lines])
    observed = np.log([amount for _, amount, _ in lines])
    weights = 1 / np.array([noise for _, _, noise in lines])
    centre = np.log([prior[name] for name in names])

    # The unknowns: the logarithm of the machine's speed, and of each cost against the prior at that speed.
    def parts(unknowns):
        return counts * np.exp(centre + unknowns[0] + unknowns[1:])

    def residuals(unknowns):
        fit = np.log(parts(unknowns).sum(axis=1)) - observed
        return np.concatenate([weights * fit, unknowns[1:] / PRIOR_SPREAD])

    def slopes(unknowns):
        shares = parts(unknowns)
        shares /= shares.sum(axis=1, keepdims=True)
        of_fit = weights[:, None] * np.column_stack([np.ones(len(shares)), shares])
        return np.concatenate([of_fit, np.eye(len(names) + 1)[1:] / PRIOR_SPREAD])

    first = np.log([(start or prior)[name] for name in names]) - centre
    found = least_squares(residuals, [0.0, *first], slopes, loss="soft_l1", f_scale=SLOW_GROWTH).x
    return dict(zip(names, np.exp(centre + found[0] + found[1:]).tolist(), strict=True))


def _seconds_fit(records: Iterable[Record], prior: Costs, start: Costs | None = None) -> Costs:
    """Return the costs of operations."""
    lines = [
        (record.stages[stage], seconds, _noise(stage, seconds, record.jitter))
        for record in records
        for stage, seconds in record.seconds.items()
    ]
    return fit_costs(lines, prior, start)


def _noise(stage: str, seconds: float, jitter: float) -> float:
    """Return how far the logarithm of a recorded time may be off."""
    return STARTUP_NOISE if stage == "startup" else float(np.hypot(NOISE, jitter / seconds))


def _total(costs: Costs, counts: Counts) -> float:
    return sum(costs[name] * count for name, count in counts.items())


def _quantiles(errors: np.ndarray) -> tuple[float, float]:
    """Return median and 90 % quantile, NaN of nothing."""
    return tuple(np.quantile(errors, (0.5, 0.9)).tolist()) if len(errors) else (NAN, NAN)
