# SPDX-License-Identifier: BSD-3-Clause
"""Operations that several kinds of jobs share, as `rbmbench.model.work` counts them."""

from rbmbench.base.settings import RunSettings
from rbmbench.kernels.ways import AUTO, takes_tables
from rbmbench.likelihood.exact import is_enumerable
from rbmbench.model.work import Counts
from rbmbench.training.loop import boundaries

MANY = 500  # rows of products over all rows of a data set, or over successive samples


def measuring(counts: Counts) -> dict[str, Counts]:
    """Return the stages of a measurement of trained models."""
    return {"startup": {"start": 1}, "measuring": counts | {"first call": 1}}


def measurement_memory(rows: int, m: int, n: int, trials: int, batch: int) -> Counts:
    """Return the memory of a ground truth or of estimates: mostly three copies of float64 means of 20 blocks."""
    kept = 16 * trials * batch * (m + n) + 8 * 60 * trials * m * n + enumerated_bytes(m, n)
    return {"process": 1, "read entry": rows * m, "byte": kept}


def enumerated_bytes(m: int, n: int) -> int:
    """Return the bytes of the log weights of all states of the smaller layer, 0 where they are not enumerated."""
    return 24 * 2 ** min(m, n) if is_enumerable(m, n) else 0


def likelihood_of_rows(rows: int, m: int, n: int) -> Counts:
    """Return the operations of the log-likelihood of rows, given log Z."""
    if takes_tables(AUTO, MANY, m, n):
        return {"binary row product": 2 * rows * m * n, "evaluation": 1}
    return {"row entry": rows * m, "row product": 2 * rows * m * n, "evaluation": 1}


def evaluation(rows: int, m: int, n: int) -> Counts:
    """Return the operations of one log-likelihood of all rows, or of a snapshot where log Z cannot be enumerated."""
    if not is_enumerable(m, n):
        return {"evaluation": 1, "parameter": m * n}
    states = 2 ** min(m, n)
    return {"state": states, "state unit": states * max(m, n)} | likelihood_of_rows(rows, m, n)


def evaluations(settings: RunSettings) -> int:
    """Return the number of evaluations of a run; the maximum if a budget of products may end it earlier."""
    return 1 + len(boundaries(settings)) + len(settings.evaluate_at_products)


def snapshots(settings: RunSettings, m: int) -> int:
    """Return the number of snapshots that a run keeps for a later evaluation: 0 where log Z can be enumerated."""
    return 0 if is_enumerable(m, settings.hidden) else evaluations(settings)
