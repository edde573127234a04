# SPDX-License-Identifier: BSD-3-Clause
"""Public functions raise a one-line error for data that are not rows of 0 and 1."""

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
    """Return a matrix as states of one replica, other data unchanged."""
    return data[None] if isinstance(data, np.ndarray) and data.ndim == 2 else data


OF_ROWS = {
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
OF_STATES = {
    "stopping_times": lambda data: samplers.stopping_times(MODEL, replica(data), "rbm", 5, Stream(0, [0])),
    "samples": lambda data: likelihood.IndirectSampling(DATA).add(replica(data)),
    "reverse annealing": lambda data: likelihood.reverse_ais_log_partition(MODEL, replica(data), 2),
}
OF_MEANS = {
    "free_energy": MODEL.free_energy,
    "energy": lambda data: MODEL.energy(data, np.zeros((ROWS, N))),
    "energy, hidden": lambda data: MODEL.energy(np.zeros((ROWS, M)), data[:, :N] if np.ndim(data) == 2 else data),
    "hidden_mean": MODEL.hidden_mean,
    "visible_mean": lambda data: rbmbench.RBM(*(MODEL.W.swapaxes(1, 2), MODEL.c, MODEL.b)).visible_mean(data),
}
BINARY = OF_ROWS | OF_ANY_WIDTH | OF_STATES
EMPTY = [np.zeros((0, M), np.uint8), np.zeros((ROWS, 0), np.uint8)]
INVALID = {
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


@pytest.mark.parametrize("case", INVALID)
@pytest.mark.parametrize("name", BINARY)
def test_values_other_than_0_and_1_raise(name, case):
    values, description = INVALID[case]
    if name == "test rows" and values is None:
        return  # None: no test rows
    if (name, case) == ("train", "data set"):
        return  # train accepts a data set
    with pytest.raises(DataError, match=rf"\A.*: must .*, got {description}.*\Z"):
        BINARY[name](values)


@pytest.mark.parametrize("values", [*EMPTY, DATA[0], DATA[None]], ids=["no rows", "no columns", "1-D", "3-D"])
@pytest.mark.parametrize("name", [name for name in OF_ROWS | OF_ANY_WIDTH if name != "test rows"])
def test_arrays_that_are_not_matrices_raise(name, values):
    with pytest.raises(DataError, match=r": must .*, got (shape \(|0 columns)"):
        (OF_ROWS | OF_ANY_WIDTH)[name](values)


@pytest.mark.parametrize("name", [name for name in OF_ROWS | OF_MEANS if name not in ("train", "energy, hidden")])
def test_a_wrong_number_of_columns_raises(name):
    with pytest.raises(DataError, match=r": must (be|have) 7.*, got 3"):
        (OF_ROWS | OF_MEANS)[name](DATA[:, :3])


@pytest.mark.parametrize("name", OF_MEANS)
def test_means_outside_0_to_1_raise(name):
    OF_MEANS[name](DATA * 0.5)
    for case in ("times 5", "complex", "masked", "not finite", "data set"):
        with pytest.raises(DataError, match=r" states: must be numbers from 0 to 1.*, got .*"):
            OF_MEANS[name](INVALID[case][0])


@pytest.mark.parametrize("name", OF_MEANS)
def test_means_with_one_axis_raise(name):
    # One row would be broadcast against the biases of each model.
    with pytest.raises(DataError, match=r" states: must be numbers from 0 to 1.*, got shape \(7,\)"):
        OF_MEANS[name](DATA[0])


def test_a_masked_clamp_raises():
    clamp = np.ma.masked_array(DATA[0], mask=DATA[0] > 0)
    with pytest.raises(DataError, match=r"must be 0, 1 and missing values \(NaN\), .*, got masked entries"):
        MODEL[0].sample(2, clamp=clamp)


@pytest.mark.parametrize(
    "counts",
    [np.ones(ROWS - 2), -np.ones(ROWS), np.zeros(ROWS), np.full(ROWS, np.nan), np.full(ROWS, 1j), ["1"] * ROWS],
)
def test_counts_must_be_one_weight_per_row(counts):
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
def test_rows_of_every_type_are_converted_to_the_same_array(convert):
    rows = binary_rows(convert(DATA))
    assert rows.dtype == np.uint8
    assert rows.flags.c_contiguous
    np.testing.assert_array_equal(rows, DATA)
    log_likelihoods = likelihood.log_likelihood(MODEL, convert(DATA), np.zeros(1))
    assert log_likelihoods == likelihood.log_likelihood(MODEL, DATA, np.zeros(1))


def test_frames_with_strings_or_missing_values_raise():
    frame = pd.DataFrame(DATA).rename(columns=str)
    with pytest.raises(DataError, match=r"^data: must .*, got column '1' of (object|str)"):
        binary_rows(frame.astype({"1": str}))
    with pytest.raises(DataError, match=r"^data: must .*, got a missing value"):
        binary_rows(frame.astype("Int64").replace(1, pd.NA))


def test_rows_on_a_device_stay_there():
    rows = binary_rows(DeviceArray(DATA.astype(np.float32)), units=M)
    assert isinstance(rows, DeviceArray)
    assert rows.dtype == np.uint8
    with pytest.raises(DataError, match=r"^data: must .*, got the value 3"):
        binary_rows(DeviceArray(DATA * 3))


@pytest.mark.parametrize("convert", [np.ndarray.tolist, lambda part: pd.DataFrame(np.atleast_2d(part))])
def test_parameters_that_are_not_arrays_raise(convert):
    with pytest.raises(SettingsError, match=r"^RBM: weights: must be an array.*, got a (list|DataFrame)"):
        rbmbench.RBM(*(convert(part) for part in (MODEL.W[0], MODEL.b[0], MODEL.c[0])))


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_threads_must_be_a_positive_integer(threads):
    for call in (
        lambda: train(DATA, threads=threads),
        lambda: likelihood.ais_log_partition(MODEL, 2, 2, threads=threads),
        lambda: annealed_curve(SNAPSHOTS, DATA, AnnealingSettings(particles=2, temperatures=2), threads=threads),
    ):
        with pytest.raises(SettingsError, match=rf"^option 'threads': must be an integer >= 1, got {threads!r}"):
            call()
