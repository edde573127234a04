"""Which backend runs would take here, and why."""

import os
from collections.abc import Iterator

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.cli.doctor.findings import FAILED, WARNING, Finding
from rbmbench.kernels import backend_name, backends
from rbmbench.training import fused
from rbmbench.training.timing import step_settings

__all__ = ["choices"]

# Visible and hidden units, rows of a mini-batch, trials: the sizes of bars and stripes, and of large models of MNIST.
TINY, LARGE = (16, 16, 32, 25), (784, 500, 500, 1)


def choices() -> Iterator[Finding]:
    """Yield what `auto` takes for a tiny and for a large model, and whether what the environment asks for is there."""
    for kind, sizes in (("tiny", TINY), ("large", LARGE)):
        visible, hidden, batch, trials = sizes
        chosen = backends.choose("auto", backends.work(step_settings(hidden, batch, trials=trials), visible))
        name = chosen.arrays.__name__
        kernels = backend_name(np.empty(0)) if name == "numpy" else name
        yield Finding(
            f"auto, {kind} model ({visible}x{hidden}, {trials} trial{'s' * (trials > 1)})",
            f"{name} arrays, {kernels} kernels ({chosen.reason})",
            values={"arrays": name, "kernels": kernels, "reason": chosen.reason},
        )
    if backend_name(np.empty(0)) == "numpy":
        yield Finding(
            "kernels of NumPy arrays", "the reference ones, which are slow: Numba cannot be imported", WARNING
        )
    asked = os.environ.get("RBMBENCH_BACKEND")
    try:
        if asked:
            yield Finding("RBMBENCH_BACKEND", backends.choose(asked, 0.0).arrays.__name__)
        fused.check_switch()
    except SettingsError as error:
        yield Finding("environment", str(error), FAILED)
