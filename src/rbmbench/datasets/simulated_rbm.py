# SPDX-License-Identifier: BSD-3-Clause
"""Simulated RBM: rows of an RBM with random, known parameters."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.base.streams import Purpose, Stream
from rbmbench.datasets import REGISTRY, Dataset
from rbmbench.datasets._recipe import Recipe, Seed, number, whole_number
from rbmbench.likelihood.exact import LARGEST_ENUMERABLE_LAYER, is_enumerable
from rbmbench.model.rbm import RBM, initial_rbm
from rbmbench.samplers.exact import exact_samples


@REGISTRY.register
@dataclass(frozen=True)
class SimulatedRbm(Recipe):
    """Independent rows of an RBM (Qiu, Zhang, Wang 2020, section 6.2), sampled exactly.

    The parameters are the arrays "true_W" (m, n), "true_b" (m,) and "true_c" (n,) of the data set, see `true_rbm`.

    Parameters
    ----------
    visible, hidden : int
        Units of the true model; the smaller layer has at most 25, because all its states are enumerated.
    rows : int
        Number of rows.
    width : float
        Standard deviation of every entry of W, b and c; their mean is 0.
    seed : int
        Seed of the parameters and of the rows.
    """

    visible: Annotated[int, whole_number(1, 4096)] = 200
    hidden: Annotated[int, whole_number(1, 4096)] = 20
    # Keeps the states and means of all rows within about 1 GB.
    rows: Annotated[int, whole_number(1, lambda data: 5 * 10**7 // (data.visible + data.hidden))] = 1000
    width: Annotated[float, number(0, 100)] = 1.0
    seed: Seed = 0

    def __post_init__(self):
        super().__post_init__()
        if not is_enumerable(self.visible, self.hidden):
            raise SettingsError(
                f"data set 'simulated_rbm': options 'visible', 'hidden': one must be at most "
                f"{LARGEST_ENUMERABLE_LAYER}, since rows are sampled exactly, got {self.visible}, {self.hidden}"
            )

    def load(self, _sources=None) -> Dataset:
        """Generate the data set."""
        stream = Stream(self.seed, [0], Purpose.DATA)
        rbm = initial_rbm(self.visible, self.hidden, stream, "normal", self.width, np.float64)
        layer, units = min(("hidden", self.hidden), ("visible", self.visible), key=lambda pair: pair[1])
        return self.build(
            f"Simulated RBM {self.visible}x{self.hidden}",
            train=exact_samples(rbm, self.rows, stream)[0],
            preprocessing=f"independent exact samples of an RBM whose parameters are normal with mean 0 and standard "
            f"deviation {self.width}: {layer} states by inverse CDF over all 2^{units} of them"
            + (", visible states given them" if layer == "hidden" else ""),
            arrays={"true_W": rbm.W[0], "true_b": rbm.b[0], "true_c": rbm.c[0]},
        )


def true_rbm(dataset: Dataset) -> RBM:
    """Return the RBM that the rows of a simulated data set were drawn from, float64, without leading axes."""
    return RBM(*(dataset.arrays[f"true_{name}"] for name in ("W", "b", "c")))
