# SPDX-License-Identifier: BSD-3-Clause
"""Results of measurements, and the registry of measurements."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import pandas as pd

from rbmbench.planning.differences import Difference
from rbmbench.planning.specs import Source
from rbmbench.reporting.claims import intervals
from rbmbench.reporting.claims.evidence import Evidence, NotRun
from rbmbench.reporting.curves import Curves

REQUIRED = object()
ANY, POSITIVE, SHARE = (-math.inf, math.inf), (0.0, math.inf), (0.0, 1.0)


@dataclass(frozen=True)
class Level:
    """Position on an axis of the chart of a curve with a given number: ``origin + slope * number``."""

    origin: float = 0.0
    slope: float = 1.0
    along: Literal["x", "y"] = "y"
    range: tuple[float, float] | None = None
    """Numbers at the ends of the accepted range; None: those of the range of the claim."""


@dataclass(frozen=True)
class OfMeans:
    """A number as a function of the mean curves (draws, evaluations) of some curves."""

    curves: Sequence[Curves]
    number: Callable[[list[np.ndarray]], np.ndarray]
    trials: pd.Index
    """The trials whose means these are; of a curve that lacks some of them, all."""

    def stacked(self, means: np.ndarray) -> np.ndarray:
        """Return the number for mean curves one after the other, (draws, evaluations of all curves)."""
        ends = np.cumsum([curve.trials.shape[1] for curve in self.curves])[:-1]
        return self.number(np.split(means, ends, axis=1))


@dataclass(frozen=True)
class Measurement:
    """A number with its interval, a description (``what``), and the results it is measured on."""

    value: float
    low: float
    high: float
    what: str
    sources: tuple[Source, ...]
    """The evidence: `rbmbench.planning.specs.Source`, or objects with the same attributes."""
    possible: tuple[float, float] = ANY
    """Range of the possible numbers."""
    bounds: tuple[float, float] | None = None
    """The range in which the claim holds, if set by the measurement; None if set by the claim."""
    published: float | None = None
    notes: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    """From the published settings, if the number depends on more than its sources."""
    window: tuple[float, float] | None = None
    """Range of iterations, samples or steps that it is measured on; None: all."""
    level: Level | None = None
    """None for a number without a position on an axis."""
    of_means: OfMeans | None = None
    """The mean curves that it is a function of, None for other numbers."""

    def with_doubts(self, particles: float) -> "Measurement":
        """Return it with an interval widened by the change of the number within the intervals of its estimates.

        ``particles`` is the least effective number of particles of an annealing with a lower end of its estimate.
        """
        if self.of_means is None:
            return self
        curves = self.of_means.curves
        trials = self.of_means.trials
        doubts = [curve.doubt(particles, trials) for curve in curves]
        if not any(doubt.any() for doubt in doubts):
            return self
        means = [curve.of_trials(trials).mean(axis=0) for curve in curves]
        value, *ends = intervals.extremes(means, doubts, self.of_means.stacked)
        low, high = (
            end + (extreme - value) if np.isfinite(value) else extreme
            for end, extreme in zip((self.low, self.high), ends, strict=True)
        )
        few = dict.fromkeys(curve.label for curve, doubt in zip(curves, doubts, strict=True) if np.isinf(doubt).any())
        note = f"fewer than {particles:g} particles count at some evaluations of {', '.join(few)}"
        notes = (note,) if few and (low, high) != (self.low, self.high) else ()
        return replace(self, low=low, high=high, notes=(*self.notes, *notes))


@dataclass(frozen=True)
class ClaimKind:
    """A kind of claim: a measurement, some of whose arguments may be fixed."""

    measure: Callable[..., Measurement]
    sets_range: bool
    """Whether the measurement sets the range in which the claim holds; its claims have no ``above`` and ``below``."""
    fixed: Mapping[str, object] = field(default_factory=dict)
    """Values of arguments, or `REQUIRED` for arguments that are optional in other kinds."""

    def __call__(self, evidence: Evidence, **arguments: object) -> Measurement:
        return self.measure(evidence, **dict(self.fixed) | arguments)

    @cached_property
    def arguments(self) -> dict[str, inspect.Parameter]:
        """The keys of a claim of this kind, beside those of all claims."""
        _, *parameters = inspect.signature(self.measure).parameters.values()
        arguments = {item.name: item for item in parameters if self.fixed.get(item.name, REQUIRED) is REQUIRED}
        for name in self.fixed.keys() & arguments:  # a value or None by default
            value, _ = get_args(arguments[name].annotation)
            arguments[name] = arguments[name].replace(annotation=value, default=inspect.Parameter.empty)
        return arguments

    @property
    def summary(self) -> str:
        """A sentence about the measurement; of an alias, about the kind and the arguments it fixes."""
        words = {None: " none", REQUIRED: ""}
        values = " and ".join(name + words.get(value, f" {value}") for name, value in self.fixed.items())
        alias = f"Measure `{self.measure.__name__}` with {values}."
        return alias if values else inspect.getdoc(self.measure).splitlines()[0]


MEASUREMENTS: dict[str, ClaimKind] = {}
"""The kinds of claims by their names."""


def measures(*, sets_range: bool = False, **aliases: Mapping[str, object]) -> Callable:
    """Return a decorator that registers a measurement under the name of its function.

    The function takes an `Evidence` and keyword arguments, which are the keys of a claim of this kind. Annotate them
    with the types of `rbmbench.reporting.claims.arguments`, so that they are checked with the configuration.
    ``aliases`` are further kinds, with the values of arguments that they fix; see `ClaimKind`.
    """

    def register(measure: Callable[..., Measurement]) -> Callable[..., Measurement]:
        _, *arguments = inspect.signature(measure).parameters.values()
        if untyped := [argument.name for argument in arguments if argument.annotation is argument.empty]:
            raise TypeError(f"{measure.__name__}: arguments must be annotated, got {', '.join(untyped)}")
        kinds = {measure.__name__: {}} | aliases
        MEASUREMENTS.update({name: ClaimKind(measure, sets_range, fixed) for name, fixed in kinds.items()})
        return measure

    return register


def paired(*curves: Curves) -> pd.Index:
    """Return the trials that are complete in all curves; `NotRun` if there is none."""
    trials = curves[0].trials.index
    for other in curves[1:]:
        trials = trials.intersection(other.trials.index)
    if trials.empty:
        raise NotRun(f"no trial of {', '.join(curve.label for curve in curves)} is finite throughout")
    return trials
