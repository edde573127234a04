# SPDX-License-Identifier: BSD-3-Clause
"""CUDA kernels on the CPU: whole runs on device arrays, and compilation for devices."""

import ctypes
import os
import shutil
import subprocess
from ctypes.util import find_library
from functools import partial
from itertools import product

import numpy as np
import pytest
from core_helpers import binary_data, random_rbm, training_stream

import shim.device
from rbmbench import estimators, samplers
from rbmbench.base.errors import TrainingError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import AnnealingSettings, EstimateSettings, GroundTruthSettings
from rbmbench.kernels import backend_name, kernels_for, on_host
from rbmbench.kernels import cupy as cupy_kernels
from rbmbench.kernels.cupy import _device, tempering
from rbmbench.likelihood import ais_log_partition, data_statistics, exact_gradient, exact_log_partition, log_likelihood
from rbmbench.measurements import gradient_bias
from rbmbench.training import trainer
from rbmbench.training.snapshots import annealed_curve
from rbmbench.updates.ssd import spectral_step
from shim import NEEDS_COMPILER, DeviceArray, cuda_on_cpu, runs_on_cpu
from shim.runs import DeviceNamespace

OPTIONS = {"parallel_tempering": {"temperatures": 4}, "pop_cd_mixture": {"tau": 3}}
DATA = binary_data(23, 7)


@pytest.fixture
def device(monkeypatch):
    """The CPU as the device of the backend "cupy", with one launch per operation."""
    monkeypatch.setenv("RBMBENCH_FUSED", "off")
    with runs_on_cpu() as device:
        yield device


def trained(name, backend, precision="float64", k=None, **settings):
    options = OPTIONS.get(name, {}) | ({"k": k} if k else {})
    values = {"batch": 6, "iterations": 13, "trials": 2, "seed": 2, "precision": precision, "evaluate_every": 5}
    return trainer.train(DATA, hidden=5, estimator=name, options=options, backend=backend, **values | settings)


@NEEDS_COMPILER
@pytest.mark.parametrize("name", estimators.REGISTRY.names())
def test_a_run_on_a_device_is_that_on_the_host(device, name):
    # float64: with these seeds no uniform lies between two roundings of a mean, so that all states are the same.
    result, host = trained(name, "cupy"), trained(name, "numpy")
    assert (result.backend["backend"], result.backend["backend_reason"]) == ("cupy", "a test")
    for part in ("W", "b", "c"):
        assert type(getattr(result.rbm, part)) is np.ndarray
        np.testing.assert_allclose(getattr(result.rbm, part), getattr(host.rbm, part), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(result.curve.value, host.curve.value, rtol=1e-8, atol=1e-10)


@NEEDS_COMPILER
@pytest.mark.parametrize(("name", "k"), [("cd", 3), ("pcd", 2), ("pop_cd", 2), ("parallel_tempering", None)])
def test_a_run_in_float32_draws_the_same_states(device, name, k):
    result, host = trained(name, "cupy", "float32", k), trained(name, "numpy", "float32", k)
    # One flipped unit would change its weight by rate / batch = 1/60; rounding errors are below 1e-5.
    np.testing.assert_allclose(result.rbm.W, host.rbm.W, rtol=0, atol=1e-5)


@NEEDS_COMPILER
def test_the_whole_data_set_as_a_batch(device):
    result, host = (trained("cd", backend, batch=len(DATA)) for backend in ("cupy", "numpy"))
    np.testing.assert_allclose(result.rbm.W, host.rbm.W, rtol=1e-8, atol=1e-10)


@NEEDS_COMPILER
@pytest.mark.parametrize("name", ["cd", "pcd"])
def test_chains_of_any_number_and_a_proxy(device, name):
    settings = {"batch": 6, "iterations": 7, "trials": 2, "seed": 2, "precision": "float64", "evaluate_every": 5}
    settings |= {"estimator": name, "options": {"chains": 11}, "proxy": {"chains": 3, "steps": 2}}
    result, host = (trainer.train(DATA, hidden=5, backend=backend, **settings) for backend in ("cupy", "numpy"))
    np.testing.assert_allclose(result.rbm.W, host.rbm.W, rtol=1e-8, atol=1e-10)
    assert "reconstruction_log_likelihood" in set(result.curve.metric)
    np.testing.assert_allclose(result.curve.value, host.curve.value, rtol=1e-8, atol=1e-10)


@NEEDS_COMPILER
@pytest.mark.parametrize("name", ["pcd", "parallel_tempering"])
def test_a_stopped_run_resumes_bit_for_bit(device, tmp_path, monkeypatch, name):
    monkeypatch.setattr("rbmbench.training.checkpoint.CHECKPOINT_SECONDS", 0.0)
    whole = trained(name, "cupy")
    checkpoint, evaluate = tmp_path / "checkpoint.npz", trainer.Loop._evaluate

    def stop_at_ten(loop):
        if loop.iteration > 10:
            raise KeyboardInterrupt
        evaluate(loop)

    stage = {"until": 13, "estimator": {"name": name, "options": OPTIONS.get(name, {})}, "rate": 0.1}
    values = {"data": {"name": "user"}, "hidden": 5, "batch": 6, "schedule": [stage], "trials": 2, "seed": 2}
    settings = parse(trainer.RunSettings, values | {"precision": "float64", "evaluate_every": 5}, "test")
    monkeypatch.setattr(trainer.Loop, "_evaluate", stop_at_ten)
    with pytest.raises(KeyboardInterrupt):
        trainer.run(DATA, settings, checkpoint=checkpoint, backend="cupy")
    monkeypatch.setattr(trainer.Loop, "_evaluate", evaluate)
    resumed = trainer.run(DATA, settings, checkpoint=checkpoint, backend="cupy")
    np.testing.assert_array_equal(resumed.rbm.W, whole.rbm.W)
    np.testing.assert_array_equal(resumed.curve.value, whole.curve.value)


@NEEDS_COMPILER
@pytest.mark.parametrize("rule", ["centered", "cs_dcp", "sdcp", "ssd"])
def test_update_rules_on_a_device_are_those_of_the_host(device, rule):
    stage = {"until": 7, "estimator": {"name": "cd", "options": {"k": 2}}, "update": {"name": rule}, "rate": 0.1}
    values = {"data": {"name": "user"}, "hidden": 5, "batch": 6, "schedule": [stage], "trials": 2, "seed": 2}
    settings = parse(trainer.RunSettings, values | {"precision": "float64", "evaluate_every": 3}, "test")
    result, host = (trainer.run(DATA, settings, backend=backend).rbm for backend in ("cupy", "numpy"))
    for parameter, expected in zip((result.W, result.b, result.c), (host.W, host.b, host.c), strict=True):
        np.testing.assert_allclose(parameter, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("shape", [(7, 5), (53, 31), (31, 53)])
def test_spectral_steps_on_a_device_are_those_of_the_host(shape):
    G = np.random.default_rng(1).normal(size=(2, *shape)).astype(np.float32)
    np.testing.assert_array_equal(spectral_step(DeviceArray(G), 0.5).get(), spectral_step(G, 0.5))


@NEEDS_COMPILER
@pytest.mark.parametrize("name", ["cd", "pcd", "pop_cd", "parallel_tempering"])
def test_steps_copy_nothing_to_the_device(device, name):
    copies = []
    for iterations in (1, 2, 30):
        before = DeviceArray.copied_in
        trained(name, "cupy", iterations=iterations, evaluate_every=iterations)
        copies.append(DeviceArray.copied_in - before)
    # All copy data, initial parameters and evaluated rows; the first also constants, such as the trials.
    assert copies[0] > copies[1] == copies[2]


@NEEDS_COMPILER
@pytest.mark.parametrize("name", ["cd", "pcd", "pop_cd", "pop_cd_joint", "parallel_tempering"])
def test_the_host_reads_nothing_between_pauses(device, no_pauses, name):
    reads = []
    for iterations in (2, 30):
        before = DeviceArray.read
        trained(name, "cupy", iterations=iterations, evaluate_every=iterations)
        reads.append(DeviceArray.read - before)
    assert reads[0] == reads[1]


@NEEDS_COMPILER
def test_parameters_that_are_not_finite_stop_a_run_on_a_device(device, no_pauses):
    with pytest.raises(TrainingError, match=r"^trial 0: parameters are not finite at iteration 5; .*1e\+39"):
        trained("pcd", "cupy", "float32", rate=1e39)


@NEEDS_COMPILER
@pytest.mark.parametrize("shape", [(7, 5), (5, 7), (101, 6)])
def test_exact_values_and_likelihoods(device, shape):
    m, n = shape
    host, rows = random_rbm(m, n, (2,), dtype=np.float32), binary_data(11, m)
    on_device = host.like(DeviceArray(np.empty(0)))
    assert backend_name(on_device.W) == "cupy"
    log_partition = exact_log_partition(on_device)
    np.testing.assert_allclose(log_partition, exact_log_partition(host), rtol=1e-13)
    # Rows may be on the host or on the device.
    for data in (rows, DeviceArray(rows)):
        likelihoods = log_likelihood(on_device, data, log_partition)
        np.testing.assert_allclose(likelihoods, log_likelihood(host, rows, log_partition), rtol=1e-13)
        for part, expected in zip(exact_gradient(on_device, data), exact_gradient(host, rows), strict=True):
            np.testing.assert_allclose(on_host(part), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(on_host(on_device.free_energy(DeviceArray(rows))), host.free_energy(rows), rtol=2e-6)
    for part, expected in zip(data_statistics(on_device, rows), data_statistics(host, rows), strict=True):
        np.testing.assert_allclose(on_host(part), expected, rtol=0, atol=1e-12)


@NEEDS_COMPILER
@pytest.mark.parametrize("base", [None, np.linspace(-1, 1, 7)])
def test_annealing_on_device_arrays(device, base):
    # float64: with this seed no uniform lies between two roundings of a mean, so that all particles are the same.
    host = random_rbm(7, 5, (2,))
    estimate, expected = (
        ais_log_partition(rbm, particles=11, temperatures=13, seed=3, base=base)
        for rbm in (host.like(DeviceArray(np.empty(0))), host)
    )
    for name in ("log_partition", "standard_error", "effective_sample_size"):
        np.testing.assert_allclose(getattr(estimate, name), getattr(expected, name), rtol=1e-9)
    assert device.launches["softplus_difference"] == 13


@NEEDS_COMPILER
def test_snapshots_of_large_runs_are_on_the_host(device):
    values = {"hidden": 26, "batch": 6, "iterations": 4, "trials": 2, "evaluate_every": 2, "precision": "float64"}
    result, host = (trainer.train(binary_data(23, 27), backend=backend, **values) for backend in ("cupy", "numpy"))
    assert result.snapshots["snapshot_iterations"].tolist() == [0, 2, 4]
    for name, expected in host.snapshots.items():
        assert type(result.snapshots[name]) is np.ndarray
        np.testing.assert_allclose(result.snapshots[name], expected, rtol=0, atol=1e-10)
    assert not np.array_equal(result.snapshots["snapshot_W"][0], result.snapshots["snapshot_W"][2])


@NEEDS_COMPILER
@pytest.mark.parametrize(("further", "threads"), [({}, 3), ({"tempering": {"products": 3000}}, 1)])
def test_snapshots_are_evaluated_on_device_arrays(device, further, threads):
    models = random_rbm(13, 11, (3, 2), scale=0.3)
    snapshots = {f"snapshot_{name}": array for name, array in models.parameters._asdict().items()}
    snapshots["snapshot_iterations"] = np.array([0, 5, 7])
    settings = parse(AnnealingSettings, {"particles": 5, "temperatures": 17, **further}, "annealing")
    rows, test = binary_data(23, 13), {"test": binary_data(3, 13)}
    result, host = (
        annealed_curve(snapshots, rows, settings, test, arrays=arrays, threads=threads)
        for arrays in (DeviceNamespace, np)
    )
    assert device.launches["softplus_sum"]  # of the rows
    assert result.drop(columns="value").equals(host.drop(columns="value"))
    np.testing.assert_allclose(result.value, host.value, rtol=1e-9)


@NEEDS_COMPILER
def test_bias_is_measured_on_device_arrays(device):
    host, biases = random_rbm(7, 5, (2,), scale=0.5), []
    tempered = GroundTruthSettings(method="parallel_tempering", chains=3, burn_in=5, samples=40)
    for rbm in (host, host.like(DeviceArray(np.empty(0)))):
        ground_truths = {"exact": gradient_bias.ground_truth(rbm, DATA, GroundTruthSettings(method="exact"))}
        ground_truths["parallel_tempering"] = gradient_bias.ground_truth(rbm, DATA, tempered)
        settings = EstimateSettings(estimator={"name": "pop_cd"}, batch=6, estimates=20)
        measured = gradient_bias.measure(rbm, DATA, settings, ground_truths)
        biases.append(measured[measured.quantity != "seconds_per_estimate"].value.to_numpy())
    np.testing.assert_allclose(*biases, rtol=1e-8, atol=1e-12)


@NEEDS_COMPILER
@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize(("chains", "m", "n", "fits"), [(47, 211, 103, False), (301, 3, 2, True)])
def test_tempered_chains_beyond_shared_memory_or_threads(device, precision, chains, m, n, fits):
    rbm = random_rbm(m, n, (2,), scale=0.1, dtype=precision)
    assert (tempering._workspace_bytes(chains, m, n, rbm.W.itemsize) < _device.SHARED_BYTES) == fits
    start = binary_data(2 * chains, m).reshape(2, 1, chains, m).astype(precision)
    results = []
    for array in (np.empty(0), DeviceArray(np.empty(0))):
        visible = np.array(start, like=array)
        samples = np.empty_like(visible, shape=(2, 1, 2, m))
        sampler = samplers.ParallelTemperingSampler(chains)
        sampler.sweep(rbm.like(array), visible, training_stream(2), samples)
        results.append((on_host(visible), on_host(samples)))
    for result, host in zip(*results, strict=True):
        # Rounding may flip one unit in 10^6; another swap of chains would change dozens.
        assert np.count_nonzero(result != host) <= (3 if precision == np.float32 else 0)


def all_results(reverse):
    """Return the results of all kernels with barriers, with threads in one of two orders."""
    rng, arrays = np.random.default_rng(0), []
    with cuda_on_cpu(reverse_threads=reverse):
        # The last size is more than a block samples at a time.
        for units, kernel in product((3, 37, 4099), ("mean", "score", "difference")):
            a = DeviceArray(rng.normal(0, 2, (2, 19, units)).astype(np.float32))
            c, sums = DeviceArray(rng.normal(0, 1, (2, units)).astype(np.float32)), DeviceArray(np.zeros((2, 19)))
            if kernel == "mean":
                cupy_kernels.bernoulli_mean_and_softplus_sum(a, c, sums)
            elif kernel == "score":
                cupy_kernels.sample_bernoulli_and_log_probability(a, c, training_stream(2).next(), sums)
            else:
                cupy_kernels.softplus_difference(a, c, 0.25, 0.5, sums)
            arrays += [a.get(), sums.get()]
        rbm = random_rbm(13, 11, (2,), dtype=np.float32).like(a)
        visible, samples = DeviceArray(np.zeros((2, 3, 5, 13), np.float32)), DeviceArray(np.zeros((2, 3, 4, 13), "f"))
        samplers.ParallelTemperingSampler(5).sweep(rbm, visible, training_stream(2), samples)
    return [*arrays, visible.get(), samples.get()]


@NEEDS_COMPILER
def test_no_result_depends_on_the_order_of_threads():
    for forward, reverse in zip(all_results(reverse=False), all_results(reverse=True), strict=True):
        np.testing.assert_array_equal(forward, reverse)


@NEEDS_COMPILER
@pytest.mark.parametrize("waiting", [0, 5, 256])
def test_a_barrier_that_some_threads_miss_is_detected(device, monkeypatch, waiting):
    source = """typedef REAL real;
    extern "C" __global__ void broken(real* out, int waiting) {
        if ((int)threadIdx.x < waiting) __syncthreads();
        out[threadIdx.x] = threadIdx.x;
    }"""
    monkeypatch.setattr(_device, "source", lambda: source)
    for name in ("signatures", "_library"):
        monkeypatch.setattr(shim.device, name, getattr(shim.device, name).__wrapped__)
    out = DeviceArray(np.zeros(256))
    if 0 < waiting < 256:
        with pytest.raises(AssertionError, match="threads wait at a barrier that others never reach"):
            device.launch("broken", np.dtype(np.float64), 1, (256, 1), (out, np.int32(waiting)))
    else:
        device.launch("broken", np.dtype(np.float64), 1, (256, 1), (out, np.int32(waiting)))
        np.testing.assert_array_equal(out.get(), np.arange(256))


@NEEDS_COMPILER
@pytest.mark.parametrize(("size", "fits"), [(8 * 256, True), (8 * 255, False), (64 * 1024, True)])
def test_a_write_beyond_the_requested_shared_memory_is_detected(monkeypatch, size, fits):
    source = """typedef REAL real;
    extern __shared__ double shared_memory[];
    extern "C" __global__ void broken(real* out) { shared_memory[threadIdx.x] = out[threadIdx.x]; }"""
    monkeypatch.setattr(_device, "source", lambda: source)
    for name in ("signatures", "_library"):
        monkeypatch.setattr(shim.device, name, getattr(shim.device, name).__wrapped__)
    with cuda_on_cpu(shared_limit=max(size, _device.SHARED_BYTES)) as device:
        run = partial(device.launch, "broken", np.dtype(np.float64), 2, (256, 1), (DeviceArray(np.zeros(256)),), size)
        if fits:
            run()
        else:
            with pytest.raises(AssertionError, match="broken: writes to more shared memory than the launch asks for"):
                run()


@pytest.mark.parametrize("kernel", ["bernoulli_mean", "softplus_sum"])
def test_arrays_that_are_not_contiguous_raise(kernel):
    a = DeviceArray(np.zeros((2, 4, 3))).swapaxes(0, 1)
    with pytest.raises(ValueError, match="not C-contiguous"):
        getattr(kernels_for(a), kernel)(a, DeviceArray(np.zeros((4, 3))), *[a][: kernel == "softplus_sum"])


def compile_with_nvcc(nvcc, source, architecture, options, folder):
    """Return the error messages of nvcc."""
    (folder / "kernels.cu").write_text(source, encoding="utf-8")
    command = [nvcc, "-cubin", f"-arch={architecture}", *options, "-Werror", "all-warnings"]
    files = ["-o", str(folder / "kernels.cubin"), str(folder / "kernels.cu")]
    result = subprocess.run([*command, *files], capture_output=True, text=True)
    return result.stdout + result.stderr if result.returncode else ""


def compile_with_nvrtc(library, source, architecture, options):
    """Return the error messages of NVRTC, the compiler of CuPy."""
    nvrtc, program, size = ctypes.CDLL(library), ctypes.c_void_p(), ctypes.c_size_t()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None) == 0
    flags = [option.encode() for option in (*options, f"--gpu-architecture={architecture}")]
    failed = nvrtc.nvrtcCompileProgram(program, len(flags), (ctypes.c_char_p * len(flags))(*flags))
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    return f"error {failed}: {log.value.decode()}" if failed else ""


@pytest.mark.parametrize(
    ("architecture", "dtype"),
    [
        ("sm_80", "float32"),
        pytest.param("sm_90", "float64", marks=pytest.mark.slow),
        pytest.param("sm_80", "float64", marks=pytest.mark.slow),
        pytest.param("sm_90", "float32", marks=pytest.mark.slow),
    ],
)
def test_the_source_compiles_for_devices(tmp_path, architecture, dtype):
    options = [*_device.OPTIONS, f"-DREAL={_device.TYPES[np.dtype(dtype)]}"]
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path=os.environ.get("CUDA_HOME", "/usr/local/cuda") + "/bin")
    nvrtc = find_library("nvrtc")
    if nvcc:
        assert compile_with_nvcc(nvcc, _device.source(), architecture, options, tmp_path) == ""
    if nvrtc:
        assert compile_with_nvrtc(nvrtc, _device.source(), architecture, options) == ""
    if not nvcc and not nvrtc:
        pytest.skip("neither nvcc nor NVRTC is installed: the kernels cannot be compiled for a device")
