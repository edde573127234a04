"""The checks of all places of this machine, each with what it measured, its bound and the verdict."""

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from time import perf_counter

import numpy as np

from rbmbench.cli.doctor.checks import CHECKS, Measured, Place
from rbmbench.cli.doctor.findings import FAILED, OK, Finding, first_line
from rbmbench.cli.doctor.speed import speed
from rbmbench.kernels import backend_name, backends, reference_kernels

__all__ = ["places", "self_test"]

REFERENCE = "numpy"


def places() -> list[Place]:
    """Return the places that runs can be computed at here: the reference kernels, Numba's, and those of a GPU."""
    found = [Place(REFERENCE, reference_kernels, "numpy", np.asarray)]
    if backend_name(np.empty(0)) != REFERENCE:
        found.append(Place(backend_name(np.empty(0)), nullcontext, "numpy", np.asarray))
    if backends.what_a_gpu_lacks() is None:
        found.append(Place("cupy", nullcontext, "cupy", backends.namespace("cupy").asarray))
    return found


def self_test() -> Iterator[Finding]:
    """Yield the verdict of every check at every place, then the speed of a step at those that runs take."""
    for place in places():
        for what, check in CHECKS.items():
            # The reference kernels' training would be compared with itself.
            if place.kernels != REFERENCE or check is not CHECKS["training as on the reference kernels"]:
                yield judged(what, place, check)
    for place in places():
        if place.kernels in (backend_name(np.empty(0)), "cupy"):
            yield speed(place)


def judged(what: str, place: Place, check: Callable[[Place], Measured]) -> Finding:
    """Return the verdict of a check; one that raises has failed."""
    started = perf_counter()
    name = f"{place.kernels}: {what}"
    values = {"check": what, "kernels": place.kernels, "measured": None, "bound": None}
    try:
        with place.chosen():
            found = check(place)
    except Exception as error:  # a broken installation fails in any way
        return Finding(name, first_line(error), FAILED, values)
    value, bound = (float(number) for number in found)
    holds = math.isfinite(value) and value <= bound
    words = f"{value:.1e} {'<=' if holds else 'is not <='} {bound:.1e}"
    seconds = {"seconds": round(perf_counter() - started, 3)}
    numbers = {"measured": value, "bound": bound}
    # JSON has no other numbers.
    numbers = {key: number if math.isfinite(number) else None for key, number in numbers.items()}
    return Finding(name, words, OK if holds else FAILED, values | numbers | seconds)
