"""What a measurement returns, the registry of measurements, and what all of them share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from rbmbench.reporting.claims.evidence import NotRun


@dataclass(frozen=True)
class Measurement:
    """A number with its interval, what it is in words, and the results it is measured on."""

    value: float
    low: float
    high: float
    what: str
    sources: tuple[Any, ...]
    """What it is measured on; each has label, stand_in, dropped and budget, as the kinds of figures and tables say."""
    bounds: tuple[float, float] | None = None
    """The range in which the claim holds, where the measurement sets it; None where the claim does."""
    published: float | None = None
    notes: tuple[str, ...] = ()


MEASUREMENTS: dict[str, Callable[..., Measurement]] = {}
"""The measurements, by the name that the key ``kind`` of a claim gives."""
SETS_RANGE: set[str] = set()
"""Names of the measurements that set the range of the claim themselves."""


def measures(*, sets_range: bool = False) -> Callable:
    """Return a decorator that registers a measurement under the name of its function.

    The function takes an `Evidence` and keyword arguments, which are the keys of a claim of this kind. Annotate them
    with the types of `rbmbench.reporting.claims.arguments`, so that they are checked with the configuration.

    Parameters
    ----------
    sets_range : bool
        Whether the measurement sets the range in which the claim holds; claims of this kind have no ``above`` and
        ``below`` then.
    """

    def register(measure: Callable[..., Measurement]) -> Callable[..., Measurement]:
        MEASUREMENTS[measure.__name__] = measure
        if sets_range:
            SETS_RANGE.add(measure.__name__)
        return measure

    return register


def paired(*curves: Any) -> pd.Index:
    """Return the trials that are complete in all curves.

    Raises
    ------
    NotRun
        If there is none.
    """
    trials = curves[0].trials.index
    for other in curves[1:]:
        trials = trials.intersection(other.trials.index)
    if trials.empty:
        raise NotRun(f"no trial of {', '.join(curve.label for curve in curves)} is finite throughout")
    return trials
