# SPDX-License-Identifier: BSD-3-Clause
"""Training steps on a GPU against their matrix products."""

import os
from functools import wraps
from unittest.mock import patch

from rbmbench.kernels import kernels_for
from rbmbench.training.fused import VARIABLE
from rbmbench.training.timing import training_step
from timing import DENSE, FLOOR, OTHER, Clock, line, matrix_products


def obstacle() -> str:
    """Return the reason why nothing is measured on a GPU, or ""."""
    try:
        import cupy
    except ImportError:
        return "No GPU measured: CuPy is not installed"
    try:
        kernels_for(cupy.zeros(1, "float32"))
    except cupy.cuda.runtime.CUDARuntimeError:
        return "No GPU measured: none was found"
    except TypeError:
        return "No GPU measured: rbmbench has no kernels for it"
    return ""


def gpu_steps(clock: Clock) -> list[dict]:
    """Compare 784 x 500 steps of CD with their matrix products, and fused small steps with ordinary ones."""
    if obstacle():
        return []
    import cupy

    def finished(function):
        """Return the function followed by a synchronisation, as launches are asynchronous."""

        @wraps(function)
        def call():
            function()
            cupy.cuda.get_current_stream().synchronize()

        return call

    lines = []
    for k in (1, 10):
        step = finished(training_step(784, 500, 500, "cd", {"k": k}, place=cupy.asarray))
        floor = finished(matrix_products(784, 500, 500, k, place=cupy.asarray))
        ours, products = clock.best(step, floor, rounds=100)
        label = f"CD-{k} step on the GPU, 784x500, batch 500"
        lines.append(line(label, ours, DENSE, FLOOR, products))
    for name, title in (("cd", "CD-1"), ("pop_cd", "pop-CD-1")):
        many, single = (finished(_small_step(name, switch, cupy.asarray)) for switch in ("on", "off"))
        ours, theirs = clock.best(many, single, rounds=30)
        label = f"{title} step on the GPU, 16x16, batch 100, 25 trials, fused"
        lines.append(line(label, ours, "one by one", OTHER, theirs))
    return lines


def _small_step(name, switch, place):
    """Return a function that makes steps of small RBMs, with or without the fused kernel."""
    with patch.dict(os.environ, {VARIABLE: switch}):
        return training_step(16, 16, 100, name, {}, trials=25, place=place, steps=100)
