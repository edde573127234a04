"""The self-test: all checks on all kernels of this machine, and the speed of a training step."""

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from rbmbench.cli.doctor.checks import CHECKS, Measured, Place, same_training
from rbmbench.cli.doctor.report import FACT, FAILED, OK, WARNING, Finding, first_line
from rbmbench.kernels import backend_name, backends, reference_kernels
from rbmbench.training.timing import best_seconds, matrix_products, training_step

SECONDS = 1.0
SLOW = 1.5  # step / matrix products: at most 1.1 on idle machines; other programs make it larger
LARGE = (784, 500, 500)  # visible and hidden units, rows of a mini-batch


def places() -> list[Place]:
    """Return the kernels that work here: the reference kernels, Numba's, and those of a GPU."""
    found = [Place("numpy", reference_kernels, np.asarray)]
    if (host := backend_name(np.empty(0))) != "numpy":
        found.append(Place(host, nullcontext, np.asarray))
    if backends.what_a_gpu_lacks() is None:
        found.append(Place("cupy", nullcontext, backends.namespace("cupy").asarray))
    return found


def self_test() -> Iterator[Finding]:
    """Yield the result of every check on all kernels, then the speed of a step on those that runs use."""
    for place in places():
        for what, check in CHECKS.items():
            # The training of the reference kernels would be compared with itself.
            if place.kernels != "numpy" or check is not same_training:
                yield judged(what, place, check)
    for place in places():
        if place.kernels in (backend_name(np.empty(0)), "cupy"):
            yield speed(place)


def judged(what: str, place: Place, check: Callable[[Place], Measured]) -> Finding:
    """Return the result of a check; one that raises has failed."""
    started, name = perf_counter(), f"{place.kernels}: {what}"
    values = {"check": what, "kernels": place.kernels, "measured": None, "bound": None}
    try:
        with place.chosen():
            value, bound = map(float, check(place))
    except Exception as error:  # a broken installation raises anything
        return Finding(name, first_line(error), FAILED, values)
    holds = math.isfinite(value) and value <= bound
    if math.isfinite(value):  # JSON has no other numbers
        values["measured"] = value
    values |= {"bound": bound, "seconds": round(perf_counter() - started, 3)}
    return Finding(name, f"{value:.1e} {'<=' if holds else 'is not <='} {bound:.1e}", OK if holds else FAILED, values)


def speed(place: Place) -> Finding:
    """Return the time of a CD-1 step at 784x500 on one thread, and its ratio to that of its matrix products."""
    what = f"{place.kernels}: CD-1 step, 784x500, batch 500, one thread"
    try:
        with place.chosen(), threadpool_limits(1):
            step = training_step(*LARGE, "cd", {"k": 1}, place=place.put, steps=1)
            products = matrix_products(*LARGE, 1, place=place.put)
            ours, floor = best_seconds(_finished(step, place), _finished(products, place), seconds=SECONDS)
    except Exception as error:  # a broken installation raises anything
        return Finding(what, first_line(error), FAILED)
    words = f"{1000 * ours:.2f} ms, {ours / floor:.2f} times its matrix products"
    values = {"milliseconds": 1000 * ours, "products_milliseconds": 1000 * floor, "ratio": ours / floor}
    if values["ratio"] > SLOW:
        return Finding(what, f"{words}: slow, unless the machine is busy", WARNING, values)
    return Finding(what, words, FACT, values)


def _finished(function: Callable[[], object], place: Place) -> Callable[[], object]:
    """Return the function followed by a wait for the device, whose calls return early."""
    if place.backend != "cupy":
        return function
    synchronize = backends.namespace("cupy").cuda.get_current_stream().synchronize
    return lambda: (function(), synchronize())
