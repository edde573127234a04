"""What a check returns, and what all checks share."""

from dataclasses import dataclass

import pandas as pd

from rbmbench.reporting.claims.evidence import Curves, Entry, NotRun, RunTimes, StoppingTimes
from rbmbench.reporting.claims.sample_evidence import SampleCurve

__all__ = ["Measurement", "paired"]


@dataclass(frozen=True)
class Measurement:
    """A number with its interval, what it is in words, and what it rests on."""

    value: float
    low: float
    high: float
    what: str
    sources: tuple[Curves | Entry | RunTimes | SampleCurve | StoppingTimes, ...]
    bounds: tuple[float, float] | None = None
    """The range in which the claim holds, where the check sets it rather than the claim."""
    published: float | None = None
    notes: tuple[str, ...] = ()


def paired(*curves: Curves) -> pd.Index:
    """Return the trials that all curves have whole.

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
