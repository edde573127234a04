# SPDX-License-Identifier: BSD-3-Clause
"""Weight decay: steps of weights and biases."""

import numpy as np
from core_helpers import binary_data

from rbmbench.base.parsing import parse
from rbmbench.base.settings import RunSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.model.rbm import initial_rbm
from rbmbench.training import trainer

M, N, ROWS = 5, 3, 13
DATA = binary_data(ROWS, M)


def trained(iterations, name, **options):
    update = {"name": name, "options": options}
    stage = {"until": iterations, "estimator": {"name": "exact"}, "update": update, "rate": 0.25}
    values = {"data": {"name": "toy"}, "hidden": N, "batch": ROWS, "trials": 2, "precision": "float64"}
    return trainer.run(DATA, parse(RunSettings, values | {"schedule": [stage]}, "test")).rbm


def test_a_step_subtracts_decay_of_the_weights_before_it():
    stream = Stream(0, np.arange(2), Purpose.INITIAL_PARAMETERS)
    initial = initial_rbm(M, N, stream, dtype=np.float64)
    plain, decayed = trained(1, "sgd"), trained(1, "weight_decay", decay=0.5)
    np.testing.assert_allclose(decayed.W, plain.W - 0.25 * 0.5 * initial.W, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(decayed.b, plain.b)
    np.testing.assert_array_equal(decayed.c, plain.c)


def test_weight_decay_of_0_equals_sgd():
    np.testing.assert_array_equal(trained(7, "weight_decay", decay=0).W, trained(7, "sgd").W)
