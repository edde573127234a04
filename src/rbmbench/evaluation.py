"""Scheduled evaluation of runs: the exact log-likelihood of the training set, and the curves that collect it."""

import numpy as np
import pandas as pd

from rbmbench.likelihood import exact_log_partition, log_likelihood
from rbmbench.likelihood.exact import check_enumerable
from rbmbench.model import RBM

__all__ = ["Curve", "Evaluator"]


class Evaluator:
    """Exact log-likelihood of the training set; rows that occur often are evaluated once."""

    def __init__(self, data, hidden_units: int):
        check_enumerable(data.shape[1], hidden_units)
        packed = np.ascontiguousarray(np.packbits(data, axis=1))
        keys = packed.view([("", f"V{packed.shape[1]}")]).ravel()
        _, first, self._counts = np.unique(keys, return_index=True, return_counts=True)
        self._rows = data[first]

    def __call__(self, rbm: RBM) -> dict[str, np.ndarray]:
        """Return the metrics, one value a trial."""
        log_partition = exact_log_partition(rbm)
        values = log_likelihood(rbm, self._rows, log_partition, self._counts)
        return {"log_likelihood": values, "log_partition": log_partition}


class Curve:
    """Tidy columns that grow."""

    def __init__(self, columns: dict[str, np.ndarray] | None = None):
        self._parts = [columns] if columns else []

    def add(self, trials, iteration: int, metrics: dict[str, np.ndarray]) -> None:
        """Add one value a trial for every metric."""
        for name, values in metrics.items():
            size = len(trials)
            self._parts.append(
                {
                    "trial": np.asarray(trials, np.int64),
                    "iteration": np.full(size, iteration),
                    "metric": np.full(size, name, dtype="U32"),
                    "value": np.asarray(values, np.float64),
                }
            )

    def columns(self) -> dict[str, np.ndarray]:
        """Return the columns so far."""
        return {name: np.concatenate([part[name] for part in self._parts]) for name in self._parts[0]}

    def frame(self) -> pd.DataFrame:
        """Return the curve as a frame, ordered by metric, iteration and trial."""
        return pd.DataFrame(self.columns()).sort_values(["metric", "iteration", "trial"], ignore_index=True)
