# SPDX-License-Identifier: BSD-3-Clause
"""What a measurement returns, the registry of measurements, and what all of them share."""

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
    """Where on an axis of the chart the curve would be with another number: at ``origin + slope * number``."""

    origin: float = 0.0
    slope: float = 1.0
    along: Literal["x", "y"] = "y"
    range: tuple[float, float] | None = None
    """The numbers whose places bound the accepted range; None: the ends of the range of the claim."""


@dataclass(frozen=True)
class OfMeans:
    """A number as a function of the mean curves (draws, evaluations) of some curves."""

    curves: Sequence[Curves]
    number: Callable[[list[np.ndarray]], np.ndarray]

    def stacked(self, means: np.ndarray) -> np.ndarray:
        """Return the number for mean curves one after the other, (draws, evaluations of all curves)."""
        ends = np.cumsum([curve.trials.shape[1] for curve in self.curves])[:-1]
        return self.number(np.split(means, ends, axis=1))


@dataclass(frozen=True)
class Measurement:
    """A number with its interval, what it is in words, and the results it is measured on."""

    value: float
    low: float
    high: float
    what: str
    sources: tuple[Source, ...]
    """What it is measured on: `rbmbench.planning.specs.Source`, or what has the same attributes."""
    possible: tuple[float, float] = ANY
    """The values that the number can have."""
    bounds: tuple[float, float] | None = None
    """The range in which the claim holds, where the measurement sets it; None where the claim does."""
    published: float | None = None
    notes: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    """From the published settings, where the number depends on more than its sources."""
    window: tuple[float, float] | None = None
    """Range of iterations, samples or steps that it is measured on; None: all."""
    level: Level | None = None
    """None where the number has no place on an axis."""
    of_means: OfMeans | None = None
    """What it is a function of, where that is mean curves."""

    def with_doubts(self, particles: float) -> "Measurement":
        """Return it with an interval that is wider by what the number changes within the intervals of its estimates.

        Evaluations that it does not depend on play no part. ``particles`` is the number of particles of an annealing
        that have to count for the estimate to have a lower end.
        """
        if self.of_means is None:
            return self
        curves = self.of_means.curves
        doubts = [curve.doubt(particles) for curve in curves]
        if not any(doubt.any() for doubt in doubts):
            return self
        means = [curve.mean.to_numpy() for curve in curves]
        value, *ends = intervals.extremes(means, doubts, self.of_means.stacked)
        low, high = (
            end + (extreme - value) if np.isfinite(value) else extreme
            for end, extreme in zip((self.low, self.high), ends, strict=True)
        )
        few = [curve.label for curve, doubt in zip(curves, doubts, strict=True) if np.isinf(doubt).any()]
        note = f"fewer than {particles:g} particles count at some evaluations of {', '.join(few)}"
        notes = (note,) if few and (low, high) != (self.low, self.high) else ()
        return replace(self, low=low, high=high, notes=(*self.notes, *notes))


@dataclass(frozen=True)
class ClaimKind:
    """A kind of claim: a measurement, some of whose arguments may be fixed."""

    measure: Callable[..., Measurement]
    sets_range: bool
    """Whether the measurement sets the range in which the claim holds; claims have no ``above`` and ``below`` then."""
    fixed: Mapping[str, object] = field(default_factory=dict)
    """The values of arguments, or `REQUIRED` for those that are optional otherwise."""

    def __call__(self, evidence: Evidence, **arguments: object) -> Measurement:
        return self.measure(evidence, **dict(self.fixed) | arguments)

    @cached_property
    def arguments(self) -> dict[str, inspect.Parameter]:
        """The keys of a claim of this kind, beside those of all claims."""
        _, *every = inspect.signature(self.measure).parameters.values()
        arguments = {one.name: one for one in every if self.fixed.get(one.name, REQUIRED) is REQUIRED}
        for name in self.fixed.keys() & arguments:  # a value or None by default
            value, _ = get_args(arguments[name].annotation)
            arguments[name] = arguments[name].replace(annotation=value, default=inspect.Parameter.empty)
        return arguments

    @property
    def summary(self) -> str:
        """What is measured, in a sentence; of an alias the kind that it stands for."""
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
