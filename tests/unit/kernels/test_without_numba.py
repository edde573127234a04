# SPDX-License-Identifier: BSD-3-Clause
"""Results of the NumPy kernels, without Numba, equal those with Numba."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from core_helpers import binary_data, random_rbm

from rbmbench import datasets, estimators
from rbmbench.base.settings import EstimateSettings, GroundTruthSettings
from rbmbench.kernels import reference_kernels
from rbmbench.likelihood import exact_gradient, exact_log_partition, log_likelihood
from rbmbench.measurements import gradient_bias
from rbmbench.training import trainer

pytest.importorskip("numba")

# All in float64, so that no uniform of these seeds lies between two roundings of a mean.
OPTIONS = {"parallel_tempering": {"temperatures": 4}, "pop_cd_mixture": {"tau": 3}}
DATA = binary_data(23, 7)


def trained(name):
    options = {"options": OPTIONS.get(name, {}), "precision": "float64", "evaluate_every": 10}
    return trainer.train(DATA, hidden=5, estimator=name, batch=6, iterations=37, trials=3, seed=2, **options)


def measured(rbm):
    tempered = GroundTruthSettings(method="parallel_tempering", chains=3, burn_in=5, samples=60)
    truth = gradient_bias.ground_truth(rbm, DATA, tempered)
    settings = EstimateSettings(estimator={"name": "pop_cd"}, batch=6, estimates=50)
    table = gradient_bias.measure(rbm, DATA, settings, {"x": truth})
    return truth.mean, table[table["quantity"] != "seconds_per_estimate"]["value"]


def assert_equal_with_numpy_kernels(compute):
    with_numba = compute()
    with reference_kernels():
        without = compute()
    for expected, array in zip(with_numba, without, strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", estimators.REGISTRY.names())
def test_training_gives_the_same_model(name):
    def compute():
        result = trained(name)
        return *result.rbm.parameters, result.curve["value"]

    assert_equal_with_numpy_kernels(compute)


def test_evaluation_gives_the_same_values():
    rbm, rows = random_rbm(101, 7, (2,)), binary_data(11, 101)
    trained_rbm = trained("cd").rbm
    assert_equal_with_numpy_kernels(
        lambda: (exact_log_partition(rbm), exact_gradient(rbm, rows).flat(), log_likelihood(rbm, rows, 0.0))
    )
    assert_equal_with_numpy_kernels(lambda: measured(trained_rbm))
    assert_equal_with_numpy_kernels(lambda: [datasets.load("simulated_rbm", visible=31, hidden=11, rows=53).train])


def run_blocked(code, *arguments):
    """Run code in a process in which Numba cannot be imported; return what it prints."""
    blocked = "import sys; sys.modules['numba'] = None\n" + textwrap.dedent(code)
    command = [sys.executable, "-c", blocked, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stdout


def test_numpy_kernels_are_used_without_numba():
    code = """
    import numpy as np, rbmbench
    from rbmbench.kernels import backend_name
    rbmbench.train("diag", hidden=3, batch=5, iterations=2)
    print(backend_name(np.empty(0)))
    """
    assert run_blocked(code) == "numpy\n"


PART_OF_THE_SUITE = ["model/test_gibbs", "model/test_rbm", "estimators/test_estimators", "base/test_streams"]
PART_OF_THE_SUITE += ["likelihood/test_likelihood"]


@pytest.mark.slow
def test_part_of_the_suite_passes_without_numba(repository):
    code = """
    import pytest
    sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", *sys.argv[1:]]))
    """
    files = [str(repository / "tests" / "unit" / f"{name}.py") for name in PART_OF_THE_SUITE]
    printed = run_blocked(code, "--rootdir", str(repository), *files)
    assert " passed" in printed
    assert " failed" not in printed


def test_numpy_kernels_are_used_if_numba_may_not_compile():
    code = """
    import numpy as np
    from rbmbench.kernels import backend_name, kernels_for
    print(backend_name(np.empty(0)), kernels_for(np.empty(0)).__name__)
    """
    own = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=own)
    assert result.stdout == "numpy rbmbench.kernels.numpy\n"
    assert result.stderr.count("NUMBA_DISABLE_JIT is set") == 1
