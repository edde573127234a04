# SPDX-License-Identifier: BSD-3-Clause
"""Code of a user, checked by `mypy`: invalid lines have a "type: ignore", which is unused if mypy finds no error."""

from pathlib import Path

import numpy as np
import pandas as pd

import rbmbench
from rbmbench.estimators import REGISTRY, Estimate, Estimator
from rbmbench.model.rbm import Statistics


def learned(rows: np.ndarray) -> rbmbench.RBM:
    """Train on rows and on a data set, and read the curve."""
    result = rbmbench.train(rows, hidden=3, batch=5, iterations=7, estimator="pcd", options={"k": 2}, trials=2)
    rbmbench.train(rbmbench.datasets.load("letters"), hidden=3, batch=5, schedule=[{"until": 7}])
    curve: pd.DataFrame = result.curve
    print(curve["value"].mean(), result.timings["training_seconds"])
    wrong: str = result.rbm  # type: ignore[assignment]
    print(wrong)
    return result.rbm


def wrongly_called(rows: np.ndarray) -> None:
    """Call functions with invalid arguments."""
    rbmbench.train(rows, hidden="3", batch=5)  # type: ignore[arg-type]
    rbmbench.train(rows, hidden=3)  # type: ignore[call-arg]
    rbmbench.not_there()  # type: ignore[attr-defined]
    rbmbench.Stream("1", [0])  # type: ignore[arg-type]
    rbmbench.load_plugins(3)  # type: ignore[arg-type]


def used(rbm: rbmbench.RBM, folder: Path) -> Statistics:
    """Use a trained model."""
    rbm.save(folder / "model.npz")
    again: rbmbench.RBM = rbmbench.RBM.load(folder / "model.npz")
    estimator: Estimator = rbmbench.estimators.create("cd", k=3)
    estimate: Estimate = estimator.estimate(again, np.ones((1, 5, 4)), {}, rbmbench.Stream(1, [0]))
    names: list[str] = REGISTRY.names()
    version: str = rbmbench.__version__
    print(names, version)
    rbmbench.load_plugins("plugins", folder)
    return estimator.gradient(estimate)
