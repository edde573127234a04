# SPDX-License-Identifier: BSD-3-Clause
"""Fused kernels of whole iterations on a GPU, against ordinary iterations there and on the CPU."""

import numpy as np
import pytest
from core_helpers import binary_data

import rbmbench
from rbmbench.base.errors import TrainingError
from rbmbench.base.parsing import parse
from rbmbench.kernels import backends, fused_kernels
from rbmbench.kernels.cupy import _device
from rbmbench.training import fused, trainer

MISSING = backends.gpu_obstacle()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(MISSING is not None, reason=str(MISSING))]
CASES = [("cd", 1), ("cd", 3), ("pcd", 1), ("pcd", 2), ("pop_cd", 1), ("pop_cd", 3)]
ESTIMATOR = pytest.mark.parametrize(("name", "k"), CASES, ids=[f"{name}-{k}" for name, k in CASES])
# Visible and hidden units, batch: less than a block computes at once; more than lanes and rows; all rows; parameters
# beyond the shared memory of some devices.
SIZES = pytest.mark.parametrize(("m", "n", "batch"), [(3, 2, 5), (19, 17, 37), (19, 5, 79), (257, 31, 11)])


@pytest.fixture(scope="module")
def cupy():
    """CuPy."""
    return backends.namespace("cupy")


@pytest.fixture(scope="module")
def kernels(cupy):
    """The kernels of whole iterations."""
    return fused_kernels(cupy.empty(0))


def trained(name, k, backend="cupy", m=19, n=5, batch=37, **settings):
    values = {"iterations": 23, "trials": 3, "seed": 2, "precision": "float64", "evaluate_every": 10} | settings
    data, options = binary_data(79, m), {"k": k}
    return rbmbench.train(data, hidden=n, estimator=name, options=options, backend=backend, batch=batch, **values)


def assert_close(result, expected, absolute):
    for part in ("W", "b", "c"):
        np.testing.assert_allclose(getattr(result.rbm, part), getattr(expected.rbm, part), rtol=0, atol=absolute)


@ESTIMATOR
@SIZES
def test_a_run_equals_that_on_the_host(name, k, m, n, batch):
    # In float64, with this seed, no uniform is between two roundings of a mean, so that all states are equal.
    result, expected = (trained(name, k, backend, m, n, batch) for backend in ("cupy", "numpy"))
    if m < 257 or _device.most_shared_bytes() > 80_000:
        assert result.backend["backend_iterations"] == f"{name} fused"
    assert_close(result, expected, 1e-10)
    np.testing.assert_allclose(result.curve.value, expected.curve.value, rtol=1e-8, atol=1e-10)


@ESTIMATOR
def test_a_run_with_the_kernel_equals_that_without(monkeypatch, name, k):
    for precision, absolute in (("float64", 1e-10), ("float32", 1e-5)):
        result = trained(name, k, precision=precision)
        with monkeypatch.context() as patched:
            patched.setenv(fused.VARIABLE, "off")
            expected = trained(name, k, precision=precision)
        assert expected.backend["backend_iterations"] == f"{name} one by one: RBMBENCH_FUSED is off"
        assert_close(result, expected, absolute)


@ESTIMATOR
def test_runs_repeated_divided_and_of_single_trials_are_equal(kernels, monkeypatch, name, k):
    # Many iterations and trials, as missing synchronisation of threads shows only now and then.
    values = {"iterations": 1009, "trials": 29, "precision": "float32", "evaluate_every": 1009}
    plain = trained(name, k, **values)
    assert_close(trained(name, k, **values), plain, 0)
    assert_close(trained(name, k, **values | {"evaluate_every": 101}), plain, 0)
    single = trained(name, k, **values | {"trials": 1, "first_trial": 28})
    np.testing.assert_array_equal(single.rbm.W[0], plain.rbm.W[28])
    monkeypatch.setattr(kernels, "LAUNCH_WORK", 1.0)
    assert_close(trained(name, k, **values), plain, 0)


@pytest.mark.parametrize("name", ["cd", "pcd", "pop_cd"])
def test_results_do_not_depend_on_the_memory_of_the_workspace(kernels, monkeypatch, name):
    plain = trained(name, 2)
    least = kernels.SUM_BYTES + kernels._Sizes(37, 19, 5, 8).parameter_bytes()
    monkeypatch.setattr(_device, "most_shared_bytes", lambda: least)
    assert_close(trained(name, 2), plain, 0)


@pytest.mark.parametrize("name", ["pcd", "pop_cd"])
def test_a_resumed_run_equals_one_never_stopped(tmp_path, monkeypatch, name):
    stages = [{"until": 23, "estimator": {"name": name}, "rate": 0.1}]
    values = {"data": {"name": "user"}, "hidden": 5, "batch": 37, "schedule": stages, "trials": 3, "evaluate_every": 10}
    settings, data = parse(trainer.RunSettings, values, "test"), binary_data(79, 19)
    whole, checkpoint = trainer.run(data, settings, backend="cupy"), tmp_path / "checkpoint.npz"
    monkeypatch.setattr("rbmbench.training.checkpoint.CHECKPOINT_SECONDS", 0.0)

    def interrupt(iteration, *others):
        if iteration == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trainer.run(data, settings, checkpoint=checkpoint, backend="cupy", progress=interrupt)
    resumed = trainer.run(data, settings, checkpoint=checkpoint, backend="cupy")
    assert_close(resumed, whole, 0)
    np.testing.assert_array_equal(resumed.curve.value, whole.curve.value)


@pytest.mark.parametrize("name", ["cd", "pcd", "pop_cd"])
def test_error_of_a_rate_beyond_float32_names_trial_and_iteration(name):
    with pytest.raises(TrainingError, match=r"^trial 0: parameters are not finite at iteration 1; .*1e\+39"):
        trained(name, 1, precision="float32", rate=1e39)


def test_cupy_cannot_capture_matrix_products(cupy):
    # Hence CuPy alone cannot make CUDA graphs of iterations: see docs/architecture.md.
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        a = cupy.ones((67, 71), np.float32)
        out = a @ a.T
        stream.begin_capture()
        try:
            with pytest.raises(NotImplementedError, match="cuBLAS"):
                cupy.matmul(a, a.T, out=out)
        finally:
            stream.end_capture()
