# SPDX-License-Identifier: BSD-3-Clause
"""Data that are not rows of 0 and 1 are refused in one line by every public function that takes some."""

import numpy as np
import pandas as pd
import pytest
from core_helpers import binary_data, random_rbm
from scipy import sparse

import rbmbench
from rbmbench import datasets, estimators, likelihood, samplers
from rbmbench.base.errors import DataError, SettingsError
from rbmbench.base.settings import AnnealingSettings, EstimateSettings, GroundTruthSettings
from rbmbench.base.streams import Stream
from rbmbench.measurements import gradient_bias
from rbmbench.model.enumeration import empirical_distribution
from rbmbench.model.rbm import clipped_base_rate
from rbmbench.model.rows import binary_rows
from rbmbench.training.snapshots import annealed_curve
from shim.host_array import DeviceArray

ROWS, M, N = 13, 7, 5
DATA = binary_data(ROWS, M)
MODEL = random_rbm(M, N, (1,))
TRUTH = GroundTruthSettings(method="parallel_tempering", chains=3, burn_in=2, samples=2)
ESTIMATES = EstimateSettings(estimator={"name": "cd"}, batch=3, estimates=2)
SNAPSHOTS = {f"snapshot_{name}": parameter[None] for name, parameter in MODEL.parameters._asdict().items()}
SNAPSHOTS |= {"snapshot_iterations": np.array([0])}


def train(data, **options):
    return rbmbench.train(data, hidden=3, batch=5, iterations=2, **options)


def start(name):
    return lambda data: samplers.create(name).start(MODEL, data, 2, Stream(0, [0]))


def replica(data):
    """Return what stands for states of one replica, or data as they are if they are no matrix."""
    return data[None] if isinstance(data, np.ndarray) and data.ndim == 2 else data


TAKE_ROWS = {
    "train": train,
    "test rows": lambda data: train(DATA, test=data, test_likelihood=True),
    "log_likelihood": lambda data: likelihood.log_likelihood(MODEL, data, np.zeros(1)),
    "data_statistics": lambda data: likelihood.data_statistics(MODEL, data),
    "exact_gradient": lambda data: rbmbench.exact_gradient(MODEL, data),
    "reconstruction": lambda data: likelihood.reconstruction_log_likelihood(MODEL, data, Stream(0, [0]), chains=2),
    "annealed_curve": lambda data: annealed_curve(SNAPSHOTS, data, AnnealingSettings(particles=2, temperatures=2)),
    "ground truth": lambda data: gradient_bias.ground_truth(MODEL, data, TRUTH),
    "bias": lambda data: gradient_bias.measure(MODEL, data, ESTIMATES, {}),
    "pcd": lambda data: estimators.create("pcd").start(MODEL, data, 3, Stream(0, [0])),
    **{name: start(name) for name in ("gibbs", "herding", "parallel_tempering", "rates_fpcd")},
}
OF_ANY_WIDTH = {
    "PackedData": lambda data: likelihood.PackedData(data, MODEL.W),
    "base_rate_bias": likelihood.base_rate_bias,
    "clipped_base_rate": clipped_base_rate,
    "empirical_distribution": empirical_distribution,
    "IndirectSampling": likelihood.IndirectSampling,
    "build": lambda data: datasets.build("x", "X", train=data, source="x", preprocessing="x", options={}),
}
TAKE_STATES = {
    "stopping_times": lambda data: samplers.stopping_times(MODEL, replica(data), "rbm", 5, Stream(0, [0])),
    "samples": lambda data: likelihood.IndirectSampling(DATA).add(replica(data)),
    "reverse annealing": lambda data: likelihood.reverse_ais_log_partition(MODEL, replica(data), 2),
}
TAKE_MEANS = {
    "free_energy": MODEL.free_energy,
    "energy": lambda data: MODEL.energy(data, np.zeros((ROWS, N))),
    "energy, hidden": lambda data: MODEL.energy(np.zeros((ROWS, M)), data[:, :N] if np.ndim(data) == 2 else data),
    "hidden_mean": MODEL.hidden_mean,
    "visible_mean": lambda data: rbmbench.RBM(*(MODEL.W.swapaxes(1, 2), MODEL.c, MODEL.b)).visible_mean(data),
}
BINARY = TAKE_ROWS | OF_ANY_WIDTH | TAKE_STATES
EMPTY = [np.zeros((0, M), np.uint8), np.zeros((ROWS, 0), np.uint8)]
NO_STATES = {
    "times 5": (DATA * 5, "the value 5"),
    "complex": (DATA * (1 + 0j), "ndarray of complex128"),
    "masked": (np.ma.masked_array(DATA, mask=DATA > 0), "masked entries"),
    "text": (DATA.astype(str), "ndarray of <U"),
    "objects": (DATA.astype(object), "a ndarray"),
    "not finite": (np.where(DATA, np.nan, 0), "the value nan"),
    "ragged": ([[0, 1], [1]], "rows of different lengths"),
    "data set": (datasets.load("diag"), "a Dataset"),
    "nothing": (None, "a NoneType"),
}


@pytest.mark.parametrize("wrong", NO_STATES)
@pytest.mark.parametrize("name", BINARY)
def test_what_is_not_0_and_1_is_refused(name, wrong):
    values, description = NO_STATES[wrong]
    if name == "test rows" and values is None:
        return  # there are none
    if (name, wrong) == ("train", "data set"):
        return  # it takes one
    with pytest.raises(DataError, match=rf"\A.*: must .*, got {description}.*\Z"):
        BINARY[name](values)


@pytest.mark.parametrize("values", [*EMPTY, DATA[0], DATA[None]], ids=["no rows", "no columns", "1-D", "3-D"])
@pytest.mark.parametrize("name", [name for name in TAKE_ROWS | OF_ANY_WIDTH if name != "test rows"])
def test_what_is_no_matrix_is_refused(name, values):
    with pytest.raises(DataError, match=r": must .*, got (shape \(|0 columns)"):
        (TAKE_ROWS | OF_ANY_WIDTH)[name](values)


@pytest.mark.parametrize("name", [name for name in TAKE_ROWS | TAKE_MEANS if name not in ("train", "energy, hidden")])
def test_other_widths_are_refused(name):
    with pytest.raises(DataError, match=r": must (be|have) 7.*, got 3"):
        (TAKE_ROWS | TAKE_MEANS)[name](DATA[:, :3])


@pytest.mark.parametrize("name", TAKE_MEANS)
def test_means_are_from_0_to_1(name):
    TAKE_MEANS[name](DATA * 0.5)
    for wrong in ("times 5", "complex", "masked", "not finite", "data set"):
        with pytest.raises(DataError, match=r" states: must be numbers from 0 to 1.*, got .*"):
            TAKE_MEANS[name](NO_STATES[wrong][0])


@pytest.mark.parametrize("name", TAKE_MEANS)
def test_means_of_one_axis_are_refused(name):
    # Those of one row would meet the biases of each model.
    with pytest.raises(DataError, match=r" states: must be numbers from 0 to 1.*, got shape \(7,\)"):
        TAKE_MEANS[name](DATA[0])


def test_masked_entries_are_not_clamped():
    clamp = np.ma.masked_array(DATA[0], mask=DATA[0] > 0)
    with pytest.raises(DataError, match=r"must be 0, 1 and missing values \(NaN\), .*, got masked entries"):
        MODEL[0].sample(2, clamp=clamp)


@pytest.mark.parametrize("counts", [np.ones(ROWS - 2), -np.ones(ROWS), np.zeros(ROWS), np.full(ROWS, np.nan)])
def test_weights_of_rows_are_one_for_each(counts):
    with pytest.raises(DataError, match=f"counts: must be {ROWS} numbers >= 0 with a positive sum, got .*"):
        likelihood.log_likelihood(MODEL, DATA, np.zeros(1), counts)


CONVERSIONS = {
    "list": list,
    "frame": pd.DataFrame,
    "frame of two types": lambda d: pd.DataFrame(d).astype({0: bool, 1: "Int64"}),
    "boolean frame": lambda d: pd.DataFrame(d).astype(bool).astype("boolean"),
    "arrow frame": lambda d: pd.DataFrame(d).astype("uint8[pyarrow]"),
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "fortran": np.asfortranarray,
    "bool": lambda d: d.astype(bool),
    "float16": lambda d: d.astype(np.float16),
}


@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
def test_rows_of_any_type_are_the_same_rows(convert):
    rows = binary_rows(convert(DATA))
    assert rows.dtype == np.uint8
    assert rows.flags.c_contiguous
    np.testing.assert_array_equal(rows, DATA)
    log_likelihoods = likelihood.log_likelihood(MODEL, convert(DATA), np.zeros(1))
    assert log_likelihoods == likelihood.log_likelihood(MODEL, DATA, np.zeros(1))


def test_frames_of_words_or_with_missing_values_are_refused():
    frame = pd.DataFrame(DATA).rename(columns=str)
    with pytest.raises(DataError, match=r"^data: must .*, got column '1' of (object|str)"):
        binary_rows(frame.astype({"1": str}))
    with pytest.raises(DataError, match=r"^data: must .*, got a missing value"):
        binary_rows(frame.astype("Int64").replace(1, pd.NA))


def test_a_device_keeps_its_rows():
    rows = binary_rows(DeviceArray(DATA.astype(np.float32)), units=M)
    assert isinstance(rows, DeviceArray)
    assert rows.dtype == np.uint8
    with pytest.raises(DataError, match=r"^data: must .*, got the value 3"):
        binary_rows(DeviceArray(DATA * 3))


@pytest.mark.parametrize("convert", [np.ndarray.tolist, lambda part: pd.DataFrame(np.atleast_2d(part))])
def test_parameters_are_arrays(convert):
    with pytest.raises(SettingsError, match=r"^RBM: weights: must be an array.*, got a (list|DataFrame)"):
        rbmbench.RBM(*(convert(part) for part in (MODEL.W[0], MODEL.b[0], MODEL.c[0])))


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_threads_are_counted(threads):
    for call in (
        lambda: train(DATA, threads=threads),
        lambda: likelihood.ais_log_partition(MODEL, 2, 2, threads=threads),
        lambda: annealed_curve(SNAPSHOTS, DATA, AnnealingSettings(particles=2, temperatures=2), threads=threads),
    ):
        with pytest.raises(SettingsError, match=rf"^option 'threads': must be an integer >= 1, got {threads!r}"):
            call()
