"""The speed of a training step of this machine, against the matrix products that it cannot do without."""

from collections.abc import Callable

from threadpoolctl import threadpool_limits

from rbmbench.cli.doctor.checks import Place
from rbmbench.cli.doctor.findings import FACT, FAILED, WARNING, Finding, first_line
from rbmbench.training.timing import best_seconds, matrix_products, training_step

__all__ = ["speed"]

SECONDS = 1.0
SLOW = 1.5  # on idle machines the ratio is 1.1 or less; other programs make it larger, as they come and go
LARGE = (784, 500, 500)  # visible and hidden units, rows of a mini-batch


def speed(place: Place) -> Finding:
    """Return the time of a CD-1 step at 784x500 on one thread, and its ratio to that of its matrix products."""
    what = f"{place.kernels}: CD-1 step, 784x500, batch 500, one thread"
    try:
        with place.chosen(), threadpool_limits(1):
            step = training_step(*LARGE, "cd", {"k": 1}, place=place.put, steps=1)
            products = matrix_products(*LARGE, 1, place=place.put)
            ours, floor = best_seconds(finished(step, place), finished(products, place), seconds=SECONDS)
    except Exception as error:  # a broken installation fails in any way
        return Finding(what, first_line(error), FAILED)
    ratio = ours / floor
    words = f"{1000 * ours:.2f} ms, {ratio:.2f} times its matrix products"
    values = {"milliseconds": 1000 * ours, "products_milliseconds": 1000 * floor, "ratio": ratio}
    if ratio > SLOW:
        return Finding(what, f"{words}: slow, unless the machine is busy", WARNING, values)
    return Finding(what, words, FACT, values)


def finished(function: Callable[[], object], place: Place) -> Callable[[], object]:
    """Return the function followed by a wait, where calls come back before a device has done them."""
    if place.backend != "cupy":
        return function

    def call() -> None:
        import cupy

        function()
        cupy.cuda.get_current_stream().synchronize()

    return call
