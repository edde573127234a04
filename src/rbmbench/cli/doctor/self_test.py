# SPDX-License-Identifier: BSD-3-Clause
"""The self-test: all checks on all kernels of this machine."""

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from time import perf_counter

import numpy as np

from rbmbench.cli.doctor import FAILED, OK, Finding, first_line
from rbmbench.cli.doctor.checks import CHECKS, Measured, Place, same_training
from rbmbench.kernels import backend_name, backends, reference_kernels


def places() -> list[Place]:
    """Return the kernels that work here: the reference kernels, Numba's, and those of a GPU."""
    found = [Place("numpy", reference_kernels, np.asarray)]
    if (host := backend_name(np.empty(0))) != "numpy":
        found.append(Place(host, nullcontext, np.asarray))
    if backends.what_a_gpu_lacks() is None:
        found.append(Place("cupy", nullcontext, backends.namespace("cupy").asarray))
    return found


def self_test() -> Iterator[Finding]:
    """Yield the result of every check on all kernels."""
    for place in places():
        for what, check in CHECKS.items():
            # The training of the reference kernels would be compared with itself.
            if place.kernels != "numpy" or check is not same_training:
                yield judged(what, place, check)


def judged(what: str, place: Place, check: Callable[[Place], Measured]) -> Finding:
    """Return the result of a check; one that raises has failed."""
    started, name = perf_counter(), f"{place.kernels}: {what}"
    values = {"check": what, "kernels": place.kernels}
    try:
        with place.chosen():
            value, bound = map(float, check(place))
    except Exception as error:  # a broken installation raises anything
        return Finding(name, first_line(error), FAILED, values)
    holds = math.isfinite(value) and value <= bound
    seconds = round(perf_counter() - started, 3)
    values |= {"measured": value if math.isfinite(value) else None, "bound": bound, "seconds": seconds}
    return Finding(name, f"{value:.1e} {'<=' if holds else 'is not <='} {bound:.1e}", OK if holds else FAILED, values)
