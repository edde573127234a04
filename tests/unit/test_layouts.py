# SPDX-License-Identifier: BSD-3-Clause
"""Results of public functions do not depend on the layout and type of arrays."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from operator import methodcaller
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from core_helpers import training_stream
from sklearn.neural_network import BernoulliRBM

import rbmbench
from rbmbench import datasets, estimators, likelihood, samplers, updates
from rbmbench.base.errors import SettingsError
from rbmbench.base.settings import CertificateSettings, EstimateSettings, GroundTruthSettings
from rbmbench.likelihood.pseudo import pseudo_log_likelihood
from rbmbench.measurements import gradient_bias
from rbmbench.measurements.certificate import certificate
from rbmbench.model.enumeration import empirical_distribution
from rbmbench.model.gibbs import Population
from rbmbench.model.rbm import clipped_base_rate
from rbmbench.model.trajectories import from_independent
from shim import NEEDS_COMPILER, DeviceArray, cuda_on_cpu

R = 2
TINY, SMALL, LARGE = (5, 3, 23), (11, 7, 23), (397, 11, 97)
"""Visible and hidden units, and rows; products of the large one take tables."""
SLOW = "estimators.trajectory_tempering"


def transposed_view(array):
    """Return a view with every second entry of memory, its axes in the reverse order."""
    memory = np.zeros((2 * array.shape[-1], *array.shape[-2::-1]), array.dtype)
    memory[::2] = array.T
    return memory[::2].T


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


LAYOUTS: dict[str, Callable] = {
    "Fortran order": np.asfortranarray,
    "transposed strided view": transposed_view,
    "negative strides": lambda array: np.flip(np.flip(array).copy()),
    "read-only": read_only,
    "big-endian": lambda array: array.astype(array.dtype.newbyteorder(">")),
}
TYPES = {
    "float16": (np.float16, "real", np.float32),
    "float32": (np.float32, "real", np.float32),
    "long double": (np.longdouble, "real", np.float64),
    "int8": (np.int8, "whole", np.float64),
    "int64": (np.int64, "whole", np.float64),
    "uint64": (np.uint64, "true", np.float64),
    "bool": (bool, "true", np.float64),
}
VALUES = {
    "real": lambda u: np.round(24 * u) / 64,  # exact in float16
    "whole": lambda u: (u > 0.9).astype(float) - (u < -0.9),
    "true": lambda u: (u > 0.95).astype(float),
}


@dataclass(frozen=True)
class Inputs:
    """Parameters and states of one size, in one layout and type."""

    size: tuple[int, int, int]
    convert: Callable
    values: str = "real"
    dtype: Any = np.float64

    def numbers(self, seed, *shape):
        """Return parameters of this shape, or means with `states`."""
        return VALUES[self.values](np.random.default_rng(seed).uniform(-1, 1, shape)).astype(self.dtype)

    def rbm(self, *leading):
        m, n, _ = self.size
        shapes = (*leading, m, n), (*leading, m), (*leading, n)
        return rbmbench.RBM(*(self.convert(self.numbers(seed, *shape)) for seed, shape in enumerate(shapes)))

    def further(self, array):
        """Return a further argument, which is always in host memory."""
        array = np.asarray(array, self.dtype)
        return array if self.convert is on_device else self.convert(array)

    def states(self, *shape, own=False):
        """Return binary states; with ``own`` they are writable."""
        states = (np.random.default_rng(7).random(shape) < 0.4).astype(np.uint8)
        converted = self.convert(states)
        return converted if converted.flags.writeable or not own else states

    @property
    def data(self):
        m, _, rows = self.size
        return self.states(rows, m)

    @property
    def batch(self):
        m, _, rows = self.size
        return self.states(R, rows, m)


def estimated(name, inputs):
    rbm, stream, (m, n, rows) = inputs.rbm(R), training_stream(R), inputs.size
    estimator = estimators.create(name, **({"tau": rows} if name == "pop_cd_mixture" else {}))
    try:
        estimator.check_sizes(m, n)
    except SettingsError:
        pytest.skip("too large")
    state = estimator.start(rbm, inputs.data, rows, stream)
    estimate = estimator.estimate(rbm, inputs.batch, state, stream)
    return estimator.gradient(estimate), estimate.diagnostics


def updated(name, inputs):
    rule, estimator, stream = updates.create(name), estimators.create("cd"), training_stream(R)
    rbm, memory = inputs.rbm(R), rule.start(inputs.rbm(R), inputs.data)
    rule.step(rbm, estimator, inputs.batch, {}, stream, 0.25, memory)
    return rbm.parameters, memory


def sampled(name, inputs):
    sampler, rbm, stream = samplers.create(name), inputs.rbm(R), training_stream(R)
    chains = 1 + 88 * (inputs.size == LARGE)
    samples = inputs.states(R, chains, 3, inputs.size[0], own=True)
    sampler.draw(rbm, sampler.start(rbm, inputs.data, chains, stream), stream, samples)
    return samples


def swept(inputs):
    m = inputs.size[0]
    visible, samples = inputs.states(R, 97, 3, m, own=True), inputs.states(R, 97, 2, m, own=True)
    samplers.ParallelTemperingSampler(3).sweep(inputs.rbm(R), visible, training_stream(R), samples)
    return visible, samples


def tempered(inputs):
    visible = inputs.states(3, 97, inputs.size[0], own=True)
    tempering = samplers.TrajectoryTempering(inputs.rbm(3))
    differences = tempering.advance(visible, 2, training_stream(3))
    return differences, visible, tempering.start(5, training_stream(3))


def coupled(inputs):
    start = Population(*(inputs.states(R, 89, units) for units in inputs.size[:2]))
    return samplers.CoupledGibbs("from_start").run(inputs.rbm(R), start, training_stream(R))


def distances(inputs):
    sampling, flips = likelihood.IndirectSampling(inputs.data, R), [0.25, 0.125]
    sampling.add(inputs.batch)
    values = sampling.log_likelihood(inputs.further(flips) if inputs.values == "real" else flips)
    return sampling.counts, values, sampling.best_flips()


def transformed(inputs):
    model = rbmbench.RBMTransformer(5, n_iter=1, random_state=0).fit(inputs.data)
    return model.components_, model.transform(inputs.data), model.score_samples(inputs.data)


def from_scikit_learn(inputs):
    model, rbm = BernoulliRBM(), inputs.rbm()
    model.components_, model.intercept_visible_, model.intercept_hidden_ = (
        inputs.convert(np.ascontiguousarray(part)) for part in (rbm.W.T, rbm.b, rbm.c)
    )
    return rbmbench.from_scikit_learn(model).astype(rbm.W.dtype).parameters


def measured(inputs):
    rbm, truth = inputs.rbm(R), GroundTruthSettings(method="parallel_tempering", chains=3, burn_in=2, samples=5)
    ground_truths = {"parallel_tempering": gradient_bias.ground_truth(rbm, inputs.data, truth)}
    settings = EstimateSettings(estimator={"name": "cd"}, batch=5, estimates=7)
    measured = gradient_bias.measure(rbm, inputs.data, settings, ground_truths)
    return measured[measured["quantity"] != "seconds_per_estimate"]["value"].to_numpy()


def certified(inputs):
    budget = {"chains": 4, "sweeps": 128, "ladder": 3, "walkers": 5, "steps": 2, "particles": 7, "temperatures": 5}
    settings = CertificateSettings(**budget, rows=23)
    return certificate(inputs.rbm(1), inputs.data, settings, inputs.data)["value"].to_numpy()


def saved(inputs):
    with TemporaryDirectory() as folder:
        inputs.rbm(R).save(f"{folder}/rbm.npz")
        with np.load(f"{folder}/rbm.npz") as file:
            return dict(file)


def loaded(inputs):
    """Return parameters of a file written by NumPy, whose arrays keep their order, or by `save` for other types."""
    rbm = inputs.rbm(R)
    parts = {name: inputs.convert(part) for name, part in rbm.parameters._asdict().items()}
    with TemporaryDirectory() as folder:
        if parts["W"].dtype in (np.float32, np.float64):
            np.savez(f"{folder}/rbm.npz", **parts)
        else:
            rbm.save(f"{folder}/rbm.npz")
        return rbmbench.RBM.load(f"{folder}/rbm.npz").parameters


def weights(inputs):
    return inputs.further(np.arange(inputs.size[2]) % 2)


def base(inputs):
    return inputs.further(inputs.numbers(5, inputs.size[0]))


CASES: dict[str, Callable[[Inputs], Any]] = {
    "RBM": lambda inputs: inputs.rbm(R).parameters,
    "RBM.save": saved,
    "RBM.load": loaded,
    "RBM.astype": lambda inputs: inputs.rbm(R).astype(np.float32).parameters,
    "RBM.copy": lambda inputs: inputs.rbm(R).copy().parameters,
    "RBM.like": lambda inputs: inputs.rbm(R).like(np.empty(0)).parameters,
    "RBM.on_host": lambda inputs: inputs.rbm(R).on_host().parameters,
    "RBM.sample": lambda inputs: inputs.rbm(R).sample(inputs.size[2] // 2, sweeps=2, temperatures=3),
    "RBM.sample, clamped": lambda inputs: inputs.rbm(R).sample(
        3, sweeps=2, temperatures=3, clamp=np.where(np.arange(inputs.size[0]) % 3, np.nan, 1)
    ),
    "RBM.energy": lambda inputs: inputs.rbm(R).energy(inputs.data, inputs.states(inputs.size[2], inputs.size[1])),
    "RBM.free_energy": lambda inputs: inputs.rbm(R).free_energy(inputs.batch),
    "RBM.hidden_mean": lambda inputs: inputs.rbm(R).hidden_mean(inputs.batch),
    "RBM.visible_mean": lambda inputs: inputs.rbm(R).visible_mean(inputs.states(R, 5, inputs.size[1])),
    "RBMTransformer": transformed,
    "from_scikit_learn": from_scikit_learn,
    "to_scikit_learn": lambda inputs: rbmbench.to_scikit_learn(inputs.rbm()).components_,
    "train": lambda inputs: (
        rbmbench.train(
            inputs.data, hidden=5, batch=5, iterations=3, test=inputs.data, test_likelihood=True
        ).rbm.parameters
    ),
    "plot_filters": lambda inputs: rbmbench.plot_filters(inputs.rbm()).images[0].get_array(),
    "plot_samples": lambda inputs: rbmbench.plot_samples(inputs.data).images[0].get_array(),
    "likelihood.PackedData": lambda inputs: (
        likelihood.PackedData(inputs.data, inputs.rbm().W, weights(inputs)).visible_sum
    ),
    "likelihood.IndirectSampling": distances,
    "likelihood.ais_log_partition": lambda inputs: likelihood.ais_log_partition(
        inputs.rbm(R), 97, inputs.further([0, 1]), base=base(inputs)
    ),
    "likelihood.reverse_ais_log_partition": lambda inputs: likelihood.reverse_ais_log_partition(
        inputs.rbm(R), inputs.batch, 3, base=base(inputs)
    ),
    "likelihood.bracketed_log_partition": lambda inputs: likelihood.bracketed_log_partition(
        inputs.rbm(R), inputs.data, 97, inputs.further([0, 1]), steps=1, base=base(inputs)
    ),
    "likelihood.tempered_log_partition": lambda inputs: likelihood.tempered_log_partition(
        inputs.rbm(R), inputs.data, budget=1, base=base(inputs)
    ),
    "likelihood.trajectory_ais_log_partition": lambda inputs: likelihood.trajectory_ais_log_partition(
        from_independent(inputs.rbm(2, R)), 97, 2
    ),
    "likelihood.base_rate_bias": lambda inputs: likelihood.base_rate_bias(inputs.data),
    "likelihood.bennett_log_partition": lambda inputs: likelihood.bennett_log_partition(
        0.0, inputs.further(inputs.numbers(3, 5, 3, 2, 23))
    ),
    "likelihood.data_statistics": lambda inputs: likelihood.data_statistics(inputs.rbm(R), inputs.data),
    "likelihood.exact_gradient": lambda inputs: likelihood.exact_gradient(inputs.rbm(R), inputs.data),
    "likelihood.exact_log_partition": lambda inputs: likelihood.exact_log_partition(inputs.rbm(R)),
    "likelihood.exact_model_statistics": lambda inputs: likelihood.exact_model_statistics(inputs.rbm(R)),
    "likelihood.log_likelihood": lambda inputs: likelihood.log_likelihood(
        inputs.rbm(R), inputs.data, inputs.further([1, 0]), weights(inputs)
    ),
    "likelihood.reconstruction_log_likelihood": lambda inputs: likelihood.reconstruction_log_likelihood(
        inputs.rbm(R), inputs.data, training_stream(R), chains=2, steps=1
    ),
    "likelihood.pseudo": lambda inputs: pseudo_log_likelihood(inputs.rbm(R), inputs.data),
    "samplers.CoupledGibbs": coupled,
    "samplers.ParallelTemperingSampler": swept,
    "samplers.TrajectoryTempering": tempered,
    "samplers.choose_ladder": lambda inputs: samplers.choose_ladder(
        from_independent(inputs.rbm(3)), chains=97, rounds=2
    ),
    "samplers.exact_samples": lambda inputs: samplers.exact_samples(inputs.rbm(R), 5, training_stream(R)),
    "samplers.stopping_times": lambda inputs: samplers.stopping_times(
        inputs.rbm(R), inputs.batch, "rbm", 3, training_stream(R)
    ),
    "datasets.build": lambda inputs: (
        datasets.build("x", "X", train=inputs.data, test=inputs.data, source="x", preprocessing="x", options={}).train
    ),
    "certificate": certified,
    "gradient_bias": measured,
    "clipped_base_rate": lambda inputs: clipped_base_rate(inputs.data),
    **{f"estimators.{name}": lambda inputs, name=name: estimated(name, inputs) for name in estimators.REGISTRY.names()},
    **{f"samplers.{name}": lambda inputs, name=name: sampled(name, inputs) for name in samplers.REGISTRY.names()},
    **{f"updates.{name}": lambda inputs, name=name: updated(name, inputs) for name in updates.REGISTRY.names()},
}
ENUMERATED: dict[str, Callable[[Inputs], Any]] = {
    "samplers.distribution_after": lambda inputs: samplers.distribution_after(
        inputs.rbm(1), inputs.further(np.arange(2**5) < 1)[None], 2
    ),
    "samplers.transition_matrix": lambda inputs: samplers.transition_matrix(inputs.rbm(1)),
    "empirical_distribution": lambda inputs: empirical_distribution(inputs.data),
}
"""For models whose states of both layers can be enumerated."""
HOST_ONLY = {
    *("RBM.load", "RBM.like", "RBMTransformer", "from_scikit_learn", "plot_samples", "train", "datasets.build"),
    *("certificate", "gradient_bias", "samplers.choose_ladder", "samplers.exact_samples"),
}
WITHOUT_ARRAYS = {
    "rbmbench": {
        *("Stream", "load_plugins", "load_run", "results", "plot_curve"),  # files, names and results of runs
        *("datasets", "estimators", "likelihood", "measurements", "samplers", "updates"),  # below
        "exact_gradient",  # likelihood's
    },
    "RBM": set(),
    "likelihood": {
        *(f"{method}Estimate" for method in ("Annealed", "Bennett", "Bracketed", "Tempered")),
        *("LARGEST_ENUMERABLE_LAYER", "inverse_temperatures", "is_enumerable"),
    },
    "samplers": {"REGISTRY", "Sampler", "create"},
    "estimators": {"NOTHING", "REGISTRY", "Estimate", "Estimator", "check_continues", "create"},
    "updates": {"REGISTRY", "create", "products_of"},
    "datasets": set(datasets.__all__) - {"build"},  # files, options, and data sets made by build
}


def public_names():
    methods = [name for name, value in vars(rbmbench.RBM).items() if callable(value) or isinstance(value, classmethod)]
    modules = {"likelihood": likelihood, "samplers": samplers, "estimators": estimators, "updates": updates}
    exports = {"rbmbench": rbmbench.__all__, "RBM": [name for name in methods if not name.startswith("_")]}
    exports |= {owner: module.__all__ for owner, module in (modules | {"datasets": datasets}).items()}
    for owner, names in exports.items():
        prefix = "" if owner == "rbmbench" else f"{owner}."
        yield from (prefix + name for name in names if name not in WITHOUT_ARRAYS[owner])
    for owner in ("estimators", "samplers", "updates"):
        yield from (f"{owner}.{name}" for name in modules[owner].REGISTRY.names())


def arrays_of(result):
    """Return the arrays of a result, in order."""
    if isinstance(result, DeviceArray):
        return [result.get()]
    if isinstance(result, np.ndarray | np.generic | int | float):
        return [np.asarray(result)]
    if is_dataclass(result):
        return arrays_of(tuple(vars(result).values()))
    values = result.values() if isinstance(result, Mapping) else result
    return [array for value in values for array in arrays_of(value)]


def assert_same(name, arrays, expected, dtype):
    arrays, expected = arrays_of(arrays), arrays_of(expected)
    assert len(arrays) == len(expected) > 0
    for array, reference in zip(arrays, expected, strict=True):
        # Rounding of sums of 400 terms in another order, in the largest of them.
        atol = 100 * np.finfo(dtype).eps * max(1, np.abs(reference[np.isfinite(reference)]).max(initial=0))
        np.testing.assert_allclose(array, reference, rtol=0, atol=atol, err_msg=name)


@cache
def expected(case, size, values, dtype):
    return (CASES | ENUMERATED)[case](Inputs(size, np.ascontiguousarray, values, dtype))


def check(case, size, layouts=tuple(LAYOUTS), types=tuple(TYPES)):
    function = (CASES | ENUMERATED)[case]
    for name in layouts:
        output = function(Inputs(size, LAYOUTS[name]))
        assert_same(name, output, expected(case, size, "real", np.float64), np.float64)
    for dtype, values, reference in (TYPES[name] for name in types):
        output = function(Inputs(size, methodcaller("astype", dtype), values, reference))
        assert_same(name, output, expected(case, size, values, reference), reference)


def test_every_public_function_has_a_case():
    assert set(public_names()) - set(CASES) - set(ENUMERATED) == set()


@pytest.mark.filterwarnings("ignore:log-likelihood")
@pytest.mark.parametrize("case", CASES | ENUMERATED)
def test_results_do_not_depend_on_layouts_and_types(case):
    check(case, TINY if case in ENUMERATED else SMALL)


@pytest.mark.filterwarnings("ignore:log-likelihood")
@pytest.mark.parametrize("case", [pytest.param(case, marks=[pytest.mark.slow] * (case == SLOW)) for case in CASES])
def test_products_by_tables_do_not_depend_on_layouts_and_types(case):
    # Arrays are converted as those of a small model, so that few layouts and types are enough.
    check(case, LARGE, ("transposed strided view", "big-endian"), ("float16",))


def on_device(array):
    return DeviceArray(np.asfortranarray(array))


@NEEDS_COMPILER
@pytest.mark.filterwarnings("ignore:log-likelihood")
@pytest.mark.parametrize("case", [case for case in CASES if case not in HOST_ONLY])
def test_arrays_of_a_device_may_be_in_fortran_order(case):
    with cuda_on_cpu():
        output = CASES[case](Inputs(SMALL, on_device))
    assert_same("device", output, expected(case, SMALL, "real", np.float64), np.float64)
