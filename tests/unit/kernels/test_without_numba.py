# SPDX-License-Identifier: BSD-3-Clause
"""Results of the NumPy kernels, without Numba, equal those with Numba."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from rbmbench import estimators

pytest.importorskip("numba")

BLOCKED = "import sys; sys.modules['numba'] = None\n"

# Computed with and without Numba, in float64, so that no uniform of these seeds lies between two roundings of a mean.
WORK = """
import numpy as np
from rbmbench import datasets, estimators, samplers
from rbmbench.measurements import gradient_bias
from rbmbench.training import trainer
from rbmbench.kernels import backend_name
from rbmbench.likelihood import exact_gradient, exact_log_partition, log_likelihood
from rbmbench.model.rbm import RBM
from rbmbench.base.settings import EstimateSettings, GroundTruthSettings

OPTIONS = {"parallel_tempering": {"temperatures": 4}, "pop_cd_mixture": {"tau": 3}}


def work():
    rng = np.random.default_rng(0)
    data = (rng.random((23, 7)) < 0.4).astype(np.uint8)
    outputs = {"kernels": np.array(backend_name(np.empty(0)))}
    for name in estimators.REGISTRY.names():
        result = trainer.train(
            data, hidden=5, estimator=name, options=OPTIONS.get(name, {}), batch=6, iterations=37, trials=3, seed=2,
            precision="float64", evaluate_every=10,
        )
        outputs |= {f"{name}.W": result.rbm.W, f"{name}.b": result.rbm.b, f"{name}.c": result.rbm.c}
        outputs[f"{name}.curve"] = result.curve.value.to_numpy()
    wide = RBM(rng.normal(size=(2, 101, 7)), rng.normal(size=(2, 101)), rng.normal(size=(2, 7)))
    rows = (rng.random((11, 101)) < 0.5).astype(np.uint8)
    outputs["log_partition"] = exact_log_partition(wide)
    outputs["gradient"] = exact_gradient(wide, rows).flat()
    outputs["log_likelihood"] = log_likelihood(wide, rows, 0.0)
    outputs["simulated"] = datasets.load("simulated_rbm", visible=31, hidden=11, rows=53).train
    trained = result.rbm
    tempered = GroundTruthSettings(method="parallel_tempering", chains=3, burn_in=5, samples=60)
    truth = gradient_bias.ground_truth(trained, data, tempered)
    outputs["ground_truth"] = truth.mean
    settings = EstimateSettings(estimator={"name": "pop_cd"}, batch=6, estimates=50)
    measured = gradient_bias.measure(trained, data, settings, {"x": truth})
    outputs["measured"] = measured[measured.quantity != "seconds_per_estimate"].value.to_numpy()
    return outputs
"""


def run_blocked(code, *arguments):
    """Run code in a process in which Numba cannot be imported; return what it prints."""
    result = subprocess.run(
        [sys.executable, "-c", BLOCKED + textwrap.dedent(code), *arguments], capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stdout


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Arrays of WORK with Numba, and without it from another process."""
    path = tmp_path_factory.mktemp("without") / "outputs.npz"
    run_blocked(WORK + "\nnp.savez(sys.argv[1], **work())", str(path))
    space = {}
    exec(WORK, space)
    with np.load(path) as file:
        return space["work"](), {name: file[name] for name in file.files}


def test_each_process_has_its_backend(results):
    assert [str(arrays["kernels"]) for arrays in results] == ["numba", "numpy"]


@pytest.mark.parametrize("name", estimators.REGISTRY.names())
@pytest.mark.filterwarnings("default")
def test_training_gives_the_same_model(results, name):
    with_numba, without_numba = results
    for part in ("W", "b", "c", "curve"):
        np.testing.assert_allclose(without_numba[f"{name}.{part}"], with_numba[f"{name}.{part}"], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    "name", ["log_partition", "gradient", "log_likelihood", "ground_truth", "measured", "simulated"]
)
def test_evaluation_gives_the_same_values(results, name):
    with_numba, without_numba = results
    np.testing.assert_allclose(without_numba[name], with_numba[name], rtol=1e-8, atol=1e-10)


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
