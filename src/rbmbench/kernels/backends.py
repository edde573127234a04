"""Where a run's arrays live: NumPy's in host memory, or CuPy's on a GPU. The kernels follow the arrays.

A backend is no setting of a run: the same run may be computed anywhere, and its meta says where it was.
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import NamedTuple

from rbmbench.base.errors import SettingsError
from rbmbench.base.settings import RunSettings

__all__ = ["NAMES", "Backend", "choose", "namespace", "what_a_gpu_lacks", "work"]

NAMES = ("auto", "numpy", "cupy")
# Operations an iteration from which a GPU is worth it. An iteration takes at least some 20 launches of about 10 us
# each; one core makes about 10^11 operations a second meanwhile. Assumed, not measured.
LEAST_WORK = 2e7


class Backend(NamedTuple):
    """The module whose arrays a run takes, and in a few words why."""

    arrays: ModuleType
    reason: str


def work(settings: RunSettings, visible_units: int) -> float:
    """Return the operations of an iteration of all trials: the five matrix products of CD-1, the least there is."""
    return 5 * 2.0 * settings.trials * settings.most_rows * settings.hidden * visible_units


def namespace(name: str) -> ModuleType:
    """Return the module numpy or cupy.

    Raises
    ------
    SettingsError
        If there is no such backend, or no CuPy or no GPU here.
    """
    if name not in NAMES[1:]:
        raise SettingsError(f"backend: found {name!r}; allowed: {', '.join(NAMES[1:])}")
    missing = what_a_gpu_lacks() if name == "cupy" else None
    if missing:
        raise SettingsError(f"backend: found 'cupy', but {missing}; allowed here: auto, numpy")
    return import_module(name)


def choose(name: str, operations: float) -> Backend:
    """Return the backend of a name; for "auto", a GPU's if there is one and an iteration has work enough for it.

    Parameters
    ----------
    name : {"auto", "numpy", "cupy"}
    operations : float
        Operations of an iteration, as `work` tells.

    Raises
    ------
    SettingsError
        If there is no such backend, or no CuPy or no GPU here.
    """
    if name not in NAMES:
        raise SettingsError(f"backend: found {name!r}; allowed: {', '.join(NAMES)}")
    if name != "auto":
        return Backend(namespace(name), "asked for")
    missing = what_a_gpu_lacks()
    if missing:
        return Backend(namespace("numpy"), f"automatic: {missing}")
    amount = f"{operations:.1e} operations an iteration, a GPU takes runs from {LEAST_WORK:.0e}"
    return Backend(namespace("cupy" if operations >= LEAST_WORK else "numpy"), f"automatic: {amount}")


def what_a_gpu_lacks() -> str | None:
    """Return what is missing for CuPy arrays, or None if they can be used."""
    if not _is_installed("cupy"):
        return "CuPy is not installed"
    try:
        cupy = import_module("cupy")
    except Exception as error:  # CuPy reports libraries that are missing or do not fit in several ways
        return f"CuPy cannot be imported ({_first_line(error)})"
    try:
        return None if cupy.cuda.runtime.getDeviceCount() else "there is no GPU"
    except RuntimeError as error:
        return f"there is no GPU that CuPy can use ({_first_line(error)})"


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # a module that was blocked by hand has no spec
        return False


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
