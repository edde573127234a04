# SPDX-License-Identifier: BSD-3-Clause
"""Choice of the arrays of a run: NumPy's in host memory, or CuPy's on a GPU; kernels are chosen by array type.

The backend is not part of the settings of a run; its meta.json records which one was used.
"""

from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from rbmbench.base.errors import SettingsError
from rbmbench.base.settings import RunSettings
from rbmbench.kernels import is_installed

NAMES = ("auto", "numpy", "cupy")
# Operations per iteration from which a GPU pays off. An iteration takes at least 20 launches of about 10 us each, in
# which one core makes about 2e7 operations. Assumed, not measured.
LEAST_WORK = 2e7


class Backend(NamedTuple):
    """The array module of a run, and the reason for its choice, in a few words."""

    arrays: ModuleType
    reason: str


def work(settings: RunSettings, visible_units: int) -> float:
    """Return the operations per iteration of all trials: the five matrix products of CD-1, a lower limit."""
    return 5 * 2.0 * settings.trials * settings.most_rows * settings.hidden * visible_units


def namespace(name: str) -> ModuleType:
    """Return the module numpy or cupy; raise a `SettingsError` if the name is unknown, or CuPy or a GPU is missing."""
    if name not in NAMES[1:]:
        raise SettingsError(f"backend: must be one of {', '.join(NAMES[1:])}, got {name!r}")
    missing = gpu_obstacle() if name == "cupy" else None
    if missing:
        raise SettingsError(f"backend: must be auto or numpy here, got 'cupy', but {missing}")
    return import_module(name)


def check_name(name: str, label: str = "backend") -> None:
    """Raise a `SettingsError`, which begins with the label, if there is no backend of this name."""
    if name not in NAMES:
        raise SettingsError(f"{label}: must be one of {', '.join(NAMES)}, got {name!r}")


def choose(name: str, operations: float) -> Backend:
    """Return the backend "numpy", "cupy" or "auto": a GPU if there is one and iterations are large enough.

    ``operations`` is the number per iteration, see `work`. Raises a `SettingsError` if the name is unknown, or CuPy or
    a GPU is missing.
    """
    check_name(name)
    if name != "auto":
        return Backend(namespace(name), "requested")
    missing = gpu_obstacle()
    if missing:
        return Backend(namespace("numpy"), f"automatic: {missing}")
    amount = f"{operations:.1e} operations per iteration; a GPU is used from {LEAST_WORK:.0e}"
    return Backend(namespace("cupy" if operations >= LEAST_WORK else "numpy"), f"automatic: {amount}")


def gpu_obstacle() -> str | None:
    """Return the obstacle to CuPy arrays, in words, or None if they can be used."""
    if not is_installed("cupy"):
        return "CuPy is not installed"
    try:
        cupy = import_module("cupy")
    except Exception as error:  # CuPy reports missing or unsuitable libraries by several types of errors
        return f"CuPy cannot be imported ({_first_line(error)})"
    try:
        return None if cupy.cuda.runtime.getDeviceCount() else "there is no GPU"
    except RuntimeError as error:
        return f"there is no GPU that CuPy can use ({_first_line(error)})"


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
