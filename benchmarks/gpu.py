"""Training steps on a GPU against their matrix products there; left out, with the reason, where there is none."""

from rbmbench.kernels import home_of
from steps import PRODUCTS, matrix_products, training_step
from timing import FLOOR, Clock, line

__all__ = ["gpu_steps", "why_none"]


def why_none() -> str:
    """Return why nothing is measured on a GPU, "" where it is."""
    try:
        import cupy
    except ImportError:
        return "No GPU measured: CuPy is not installed"
    try:
        home_of(cupy.zeros(1, "float32"))
    except cupy.cuda.runtime.CUDARuntimeError:
        return "No GPU measured: none was found"
    except TypeError:
        return "No GPU measured: rbmbench has no kernels for it"
    return ""


def gpu_steps(clock: Clock) -> list[dict]:
    """Compare 784 x 500 steps of CD on the GPU with their matrix products there."""
    if why_none():
        return []
    import cupy

    def finished(function):
        """Return the function followed by a wait: calls come back before the GPU has done them."""

        def call():
            function()
            cupy.cuda.get_current_stream().synchronize()

        call.steps = getattr(function, "steps", 1)
        return call

    lines = []
    for k in (1, 10):
        step = finished(training_step(784, 500, 500, "cd", {"k": k}, place=cupy.asarray))
        floor = finished(matrix_products(784, 500, 500, k, place=cupy.asarray))
        ours, products = clock.best(step, floor, rounds=100)
        what = f"CD-{k} step on the GPU, 784x500, batch 500"
        lines.append(line(what, ours, PRODUCTS, FLOOR, products))
    return lines
