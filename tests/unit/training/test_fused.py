# SPDX-License-Identifier: BSD-3-Clause
"""Fused kernels of whole iterations, run on the CPU, against the ordinary loop."""

import numpy as np
import pytest
from core_helpers import binary_data, random_rbm

import rbmbench
from rbmbench import estimators, updates
from rbmbench.base.errors import SettingsError, TrainingError
from rbmbench.base.parsing import parse
from rbmbench.base.streams import Purpose, Stream
from rbmbench.estimators.cd import CD
from rbmbench.kernels import fused_kernels
from rbmbench.model.minibatches import MiniBatches
from rbmbench.training import fused, trainer
from rbmbench.updates.sgd import SGD
from shim import NEEDS_COMPILER, DeviceArray, runs_on_cpu

M, N, ROWS = 19, 5, 79  # more and fewer units than lanes
KERNEL = "fused_iterations"
CASES = [("cd", 1), ("cd", 3), ("pcd", 1), ("pcd", 2), ("pop_cd", 1), ("pop_cd", 3)]
NAMES = ["cd", "pcd", "pop_cd"]
ESTIMATOR = pytest.mark.parametrize(("name", "k"), CASES, ids=[f"{name}-{k}" for name, k in CASES])
# More rows than a block computes at once, two mini-batches per epoch with rows left over; or all rows.
BATCH = pytest.mark.parametrize("batch", [37, ROWS])
DATA = binary_data(ROWS, M)
LONG = (131, 2, 7), (3, 101, 2)
# Without pauses the number of launches is known.
pytestmark = [NEEDS_COMPILER, pytest.mark.usefixtures("no_pauses")]


@pytest.fixture
def device():
    """The CPU in place of a device for the backend "cupy"."""
    with runs_on_cpu() as device:
        yield device


def trained(name, k, backend="cupy", batch=37, data=DATA, hidden=N, **settings):
    values = {"iterations": 11, "trials": 2, "seed": 2, "precision": "float64", "evaluate_every": 5}
    values |= {"estimator": name, "options": {"k": k}, "backend": backend} | settings
    return rbmbench.train(data, hidden=hidden, batch=batch, **values)


def assert_close(result, expected, absolute):
    for part in ("W", "b", "c"):
        np.testing.assert_allclose(getattr(result.rbm, part), getattr(expected.rbm, part), rtol=0, atol=absolute)


def assert_equal(result, expected):
    assert_close(result, expected, 0)
    np.testing.assert_array_equal(result.curve.value, expected.curve.value)


@pytest.mark.parametrize(
    ("name", "k", "batch"), [*((*case, 37) for case in CASES), *((name, 2, ROWS) for name in NAMES)]
)
def test_a_run_equals_that_of_the_numpy_backend(device, name, k, batch):
    # In float64, with this seed, no uniform is between two roundings of a mean, so that all states are equal.
    result, expected = (trained(name, k, backend, batch) for backend in ("cupy", "numpy"))
    # One launch before; iterations 1 to 5, 6 to 10, 11: with two mini-batches an epoch, 3 + 3 + 1 pieces of epochs.
    assert device.launches[KERNEL] == 1 + (3 if batch == ROWS else 7)
    assert "sample_bernoulli" not in device.launches
    assert result.backend["backend_iterations"] == f"{name} fused"
    assert_close(result, expected, 1e-11)
    np.testing.assert_array_equal(result.curve.iloc[:, :3], expected.curve.iloc[:, :3])
    np.testing.assert_allclose(result.curve.value, expected.curve.value, rtol=1e-9)
    assert ("effective_sample_size" in set(result.curve.metric)) == (name == "pop_cd")


@ESTIMATOR
def test_a_run_in_float32_draws_the_same_states(device, name, k):
    result, expected = (trained(name, k, backend, precision="float32") for backend in ("cupy", "numpy"))
    # A unit in another state changes weights by rate / batch = 1e-3, rounding by less than 1e-5.
    assert_close(result, expected, 1e-5)


def test_an_environment_variable_turns_the_kernel_off(device, monkeypatch):
    monkeypatch.setenv(fused.VARIABLE, "off")
    result = trained("pop_cd", 2)
    assert KERNEL not in device.launches
    assert result.backend["backend_iterations"] == "pop_cd one by one: RBMBENCH_FUSED is off"


@pytest.mark.parametrize(
    ("name", "m", "n", "batch"),
    [*(("pop_cd", *sizes) for sizes in ((1, 1, 1), (2, 3, 5), *LONG)), ("cd", *LONG[0]), ("pcd", *LONG[1])],
)
def test_layers_smaller_and_larger_than_a_block(device, name, m, n, batch):
    values = {"data": binary_data(11, m), "hidden": n, "batch": batch, "iterations": 7, "evaluate_every": 7}
    result, expected = (trained(name, 2, backend, **values) for backend in ("cupy", "numpy"))
    assert_close(result, expected, 1e-11)


@pytest.mark.parametrize(("name", "k"), [("cd", 3), ("pcd", 2), ("pop_cd", 1)])
def test_results_do_not_depend_on_halts_trials_and_order_of_threads(device, name, k):
    values = {"iterations": 7}
    plain = trained(name, k, **values)
    assert_close(trained(name, k, evaluate_every=1, **values), plain, 0)
    single = trained(name, k, trials=1, first_trial=1, **values)
    np.testing.assert_array_equal(single.rbm.W[0], plain.rbm.W[1])
    with runs_on_cpu(reverse_threads=True):
        assert_equal(trained(name, k, **values), plain)


@BATCH
@pytest.mark.parametrize("name", NAMES)
def test_long_launches_are_divided(device, monkeypatch, name, batch):
    values = {"batch": batch, "trials": 1}
    plain, kernels = trained(name, 2, **values), fused_kernels(DeviceArray(np.empty(0)))
    launches = device.launches.pop(KERNEL)
    for iterations in (0.5, 2):
        work = kernels._Sizes(batch, M, N, 8).work(2)
        monkeypatch.setattr(kernels, "LAUNCH_WORK", iterations * work)
        assert_equal(trained(name, 2, **values), plain)
        assert device.launches.pop(KERNEL) == 1 + (11 if iterations < 1 else 7)
    assert launches == 1 + (3 if batch == ROWS else 7)


@pytest.mark.parametrize(("name", "k"), [("pcd", 2), ("pop_cd", 1)])
def test_a_resumed_run_equals_one_never_stopped(device, tmp_path, monkeypatch, name, k):
    stages = [{"until": 5, "estimator": {"name": "cd"}, "rate": 0.1}]
    stages.append({"until": 17, "estimator": {"name": name, "options": {"k": k}}, "rate": 0.05})
    values = {"data": {"name": "user"}, "hidden": N, "batch": 37, "schedule": stages, "trials": 2, "seed": 2}
    settings = parse(trainer.RunSettings, values | {"evaluate_every": 4}, "test")
    whole = trainer.run(DATA, settings, backend="cupy")
    assert whole.backend["backend_iterations"] == f"cd fused; {name} fused"
    checkpoint = tmp_path / "checkpoint.npz"
    monkeypatch.setattr("rbmbench.training.checkpoint.CHECKPOINT_SECONDS", 0.0)

    def interrupt_at(stop):
        def interrupt(iteration, *others):
            if iteration == stop:
                raise KeyboardInterrupt

        return interrupt

    for stop in (8, 16):
        with pytest.raises(KeyboardInterrupt):
            trainer.run(DATA, settings, checkpoint=checkpoint, backend="cupy", progress=interrupt_at(stop))
    assert_equal(trainer.run(DATA, settings, checkpoint=checkpoint, backend="cupy"), whole)


def test_a_run_stopped_with_the_kernel_resumes_without(device, tmp_path, monkeypatch):
    stage = {"until": 10, "estimator": {"name": "pcd"}, "rate": 0.1}
    values = {"data": {"name": "user"}, "hidden": N, "batch": 37, "schedule": [stage], "seed": 2}
    settings = parse(trainer.RunSettings, values | {"evaluate_every": 5, "precision": "float64"}, "test")
    whole, checkpoint = trainer.run(DATA, settings, backend="numpy"), tmp_path / "checkpoint.npz"
    monkeypatch.setattr("rbmbench.training.checkpoint.CHECKPOINT_SECONDS", 0.0)
    save = trainer.Checkpointer.save

    def interrupt(*arguments):
        save(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(trainer.Checkpointer, "save", interrupt)
    with pytest.raises(KeyboardInterrupt):
        trainer.run(DATA, settings, checkpoint=checkpoint, backend="cupy")
    assert device.launches[KERNEL] == 4
    assert_close(trainer.run(DATA, settings, checkpoint=checkpoint, backend="numpy"), whole, 1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_results_do_not_depend_on_the_memory_of_the_workspace(device, name):
    plain = trained(name, 2, trials=1)
    kernels = fused_kernels(DeviceArray(np.empty(0)))
    least = kernels.SUM_BYTES + kernels._Sizes(37, M, N, 8).parameter_bytes()
    for limit, fits in ((least, True), (least - 1, False)):
        with runs_on_cpu(shared_limit=limit) as small:
            result = trained(name, 2, trials=1)
        assert (KERNEL in small.launches) == fits
        assert_close(result, plain, 0 if fits else 1e-11)
    assert f"one by one: {least} bytes of shared memory" in result.backend["backend_iterations"]


def test_large_models_use_the_ordinary_kernels(device):
    rbm = random_rbm(211, 103, (1,)).like(DeviceArray(np.empty(0)))
    reason = fused.unsupported_reason(rbm, estimators.create("cd"), updates.create("sgd"), 101)
    assert reason == "2.2e+07 operations per iteration of a trial, the limit is 2e+07"


@pytest.mark.parametrize("name", NAMES)
def test_error_of_a_rate_beyond_float32_names_trial_and_iteration(device, name):
    with pytest.raises(TrainingError, match=r"^trial 0: parameters are not finite at iteration 1; .*1e\+39"):
        trained(name, 1, precision="float32", rate=1e39)


@pytest.mark.parametrize("part", ["W", "b", "c"])
def test_a_trial_that_is_not_finite_does_not_change_the_others(device, part):
    stream = Stream(2, [3, 4, 5], Purpose.TRAINING)
    ends = []
    for nonfinite in (True, False):
        rbm = random_rbm(M, N, (3,), scale=0.1)
        if nonfinite:
            getattr(rbm, part)[1].flat[-1] = np.nan
        rbm = rbm.like(DeviceArray(np.empty(0)))
        batches, stream.number = MiniBatches(DeviceArray(DATA), 37, 2, stream.trials, np.float64), 0
        iterations = fused.FusedIterations(rbm, estimators.create("cd"), batches)
        failures = [iterations.advance(first, first + 5, {}, stream, 0.1, {}).tolist() for first in (20, 25)]
        assert failures == ([[0, 21, 0], [0, 26, 0]] if nonfinite else [[0, 0, 0]] * 2)
        ends.append(rbm.on_host())
    for end in zip(*([each.W, each.b, each.c] for each in ends), strict=True):
        np.testing.assert_array_equal(end[0][[0, 2]], end[1][[0, 2]])


class Other(CD):
    """CD with another negative phase."""

    def negative_phase(self, rbm, positive, state, stream):
        """Return means in place of states."""
        population, state, diagnostics = super().negative_phase(rbm, positive, state, stream)
        return population._replace(visible=population.visible * 0.5), state, diagnostics


class Slower(SGD):
    """Ascent at half the rate."""

    def step(self, rbm, estimator, batch, state, stream, rate, memory):
        """Make a smaller step."""
        return super().step(rbm, estimator, batch, state, stream, rate / 2, memory)


def test_derived_estimators_and_update_rules_are_not_fused(device, monkeypatch):
    rbm = random_rbm(M, N, (2,)).like(DeviceArray(np.empty(0)))
    assert fused.unsupported_reason(rbm, CD(), SGD(), 37) is None
    assert fused.unsupported_reason(rbm, CD(), Slower(), 37) == "no kernel makes whole iterations of these"
    monkeypatch.setitem(estimators.REGISTRY._makers, "other", Other)
    result, expected = (trained("other", 1, backend) for backend in ("cupy", "numpy"))
    assert result.backend["backend_iterations"] == "other one by one: no kernel makes whole iterations of these"
    assert KERNEL not in device.launches
    assert_close(result, expected, 1e-11)


def test_iterations_on_the_host_are_not_fused():
    assert trained("cd", 1, "numpy").backend["backend_iterations"] == "cd one by one: no launches to save"


def test_environment_variable_other_than_on_or_off_raises(monkeypatch):
    monkeypatch.setenv(fused.VARIABLE, "of")
    with pytest.raises(SettingsError, match=r"^RBMBENCH_FUSED: must be on or off, got 'of'"):
        trained("cd", 1, "numpy")


@pytest.mark.parametrize("name", NAMES)
def test_iterations_copy_nothing_between_host_and_device(device, name):
    counts = []
    for iterations in (1, 2, 30):
        before = DeviceArray.copied_in, DeviceArray.read
        trained(name, 1, iterations=iterations, evaluate_every=iterations, trials=1)
        counts.append((DeviceArray.copied_in - before[0], DeviceArray.read - before[1]))
    # The first iteration copies data and trials.
    assert counts[1] == counts[2]
