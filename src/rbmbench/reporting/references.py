# SPDX-License-Identifier: BSD-3-Clause
"""Horizontal lines of a panel: exact log-likelihoods to compare training with. Mean per sample, nats.

maximum     (1/N) sum_i log p^(v_i),  p^ the frequencies of the rows: no model has more;
true_model  (1/N) sum_i log p(v_i),   p the RBM that the rows were drawn from.

The rows are those that the log-likelihood of the panel is of: of the training set, or of the test set.
"""

import numpy as np

from rbmbench import datasets
from rbmbench.base.errors import ResultsError
from rbmbench.io.results import read_arrays
from rbmbench.likelihood import exact_log_partition, is_enumerable, log_likelihood
from rbmbench.model.rbm import RBM
from rbmbench.planning.chart import Line
from rbmbench.reporting.frames import TITLES, PanelSpec
from rbmbench.training.evaluation import DistinctRows

TRUE_ARRAYS = ("true_W", "true_b", "true_c")
"""Arrays (m, n), (m,), (n,) that the file of a data set holds beside its rows when they were drawn from an RBM."""


def maximum(rows: np.ndarray) -> float:
    """Return the largest mean log-likelihood that any model of rows (N, m) of 0 and 1 can have, nats per sample."""
    shares = DistinctRows(rows).counts / len(rows)
    return float(shares @ np.log(shares))


def true_model(rows: np.ndarray, rbm: RBM) -> float:
    """Return the mean log-likelihood of rows (N, m) under one RBM without leading axes, nats per sample.

    `SettingsError` if neither of its layers can be enumerated.
    """
    return float(log_likelihood(rbm, rows, exact_log_partition(rbm)))


def references(panel: PanelSpec) -> list[Line]:
    """Return the lines that a panel asks for, from the file of its data set.

    Raises
    ------
    DataError
        If the file is missing or damaged.
    ResultsError
        If it does not hold the model that the rows were drawn from, or this one cannot be enumerated.
    """
    part = "train" if "log_likelihood" in panel.metrics else "test"
    rows = getattr(datasets.read(panel.data_file), part) if panel.references else None
    lines = []
    for name in panel.references:
        if name == "maximum":
            value = maximum(rows)
        else:
            arrays = read_arrays(panel.data_file, TRUE_ARRAYS)
            rbm = RBM(*(arrays[array] for array in TRUE_ARRAYS))
            if not is_enumerable(rbm.visible_units, rbm.hidden_units):
                sizes = f"{rbm.visible_units} visible and {rbm.hidden_units} hidden units"
                message = f"the true model has {sizes}, too many for the reference 'true_model'"
                raise ResultsError(f"{panel.data_file}: {message}")
            value = true_model(rows, rbm)
        lines.append(Line(title=TITLES[name], value=value, look=name))
    return lines
