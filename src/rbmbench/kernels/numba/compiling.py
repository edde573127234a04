"""How kernels are compiled: cached, without the interpreter's lock, and the same whoever calls them first."""

from numba import njit


def compiled(fastmath=False, error_model="python", inline="never"):
    """Return the decorator of a kernel.

    Numba lets a function without options of its own inherit ``fastmath`` and ``error_model`` from the function that is
    compiled at the time and calls it. What is cached, and the last digits, would depend on which came first. So both
    are always set.
    """
    return njit(cache=True, nogil=True, fastmath=fastmath, error_model=error_model, inline=inline)
