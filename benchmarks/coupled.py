# SPDX-License-Identifier: BSD-3-Clause
"""Gradients of unbiased contrastive divergence, whose cost depends on the stopping times, against CD-1."""

from collections.abc import Callable

import numpy as np

from rbmbench import RBM, estimators
from rbmbench.base.streams import Purpose, Stream
from timing import OTHER, Clock, in_way, line

DENSE_GRADIENT = "CD-1 gradient with dense products"

# Sizes, and standard deviations of W, b and c: for larger ones, chains take longer to meet.
LARGE, AIMS = (784, 500, 500), {0.01: "<= 1.80", 0.05: "<= 10.0"}
SMALL, SMALL_WIDTH, TRIALS = (16, 16, 1000), 0.5, 25


def gradient(
    name: str, visible: int, hidden: int, chains: int, width: float, trials: int = 1, **options
) -> Callable[[], object]:
    """Return a function that computes a gradient of random models; its attribute ``mean`` has means of diagnostics."""
    rng = np.random.default_rng(1)
    shapes = (trials, visible, hidden), (trials, visible), (trials, hidden)
    rbm = RBM(*(rng.normal(0, width, shape).astype(np.float32) for shape in shapes))
    rows = (rng.random((trials, chains, visible)) < 0.5).astype(np.float32)
    estimator, stream = estimators.create(name, **options), Stream(2, range(trials), Purpose.TRAINING)

    def make():
        estimate = estimator.estimate(rbm, rows, {}, stream)
        estimator.phase_sums(estimate)
        make.mean = {name: float(values.mean()) for name, values in estimate.diagnostics.items()}

    return make


def coupled_gradients(clock: Clock) -> list[dict]:
    """Compare gradients of UCD with dense CD-1 with as many chains, and gradients of many trials with one."""
    lines = []
    for width, aim in AIMS.items():
        size = *LARGE, width
        ucd, cd = (gradient(name, *size) for name in ("ucd", "cd"))
        both = gradient("ucd", *size, coupling="both_layers")
        ours, sooner, theirs = clock.best(ucd, both, in_way("library", cd), rounds=15)
        lines.append(line(_label(*size, ucd.mean), ours, DENSE_GRADIENT, OTHER, theirs, aim))
        lines.append(line(f"{_label(*size, both.mean)}, both layers", sooner, DENSE_GRADIENT, OTHER, theirs, aim))
    visible, hidden, chains = SMALL
    ucd, cd = (gradient(name, visible, hidden, chains, SMALL_WIDTH) for name in ("ucd", "cd"))
    many = gradient("ucd", visible, hidden, chains, SMALL_WIDTH, TRIALS)
    ours, theirs, together = clock.best(ucd, cd, many, rounds=40)
    label = _label(visible, hidden, chains, SMALL_WIDTH, ucd.mean)
    lines.append(line(label, ours, "CD-1 gradient", OTHER, theirs))
    lines.append(line(f"{label}, {TRIALS} trials", together, f"{TRIALS} times one trial", OTHER, TRIALS * ours, "< 1"))
    return lines


def _label(visible: int, hidden: int, chains: int, width: float, mean: dict[str, float]) -> str:
    size = f"{visible}x{hidden}, {chains} chains, parameters of sd {width}"
    return f"UCD gradient, {size}, mean stopping time {mean['stopping_time']:.1f}"
