# SPDX-License-Identifier: BSD-3-Clause
"""Estimator trajectory_tempering: partners, checkpoints, draws and shards."""

import numpy as np
import pytest
from core_helpers import Enumerated, binary_data, random_rbm, training_stream
from scipy.stats import chi2

from rbmbench import estimators
from rbmbench.base.errors import SettingsError
from rbmbench.estimators.trajectory_tempering import _autocorrelation_time
from rbmbench.model.rbm import RBM
from rbmbench.training import shards
from rbmbench.training.trainer import train

R, CHAINS, M, N = 3, 11, 7, 5
DATA = binary_data(23, M)
NAME = "trajectory_tempering"


def started(rbm, seed=5, **options):
    """Return an estimator, its state and its stream."""
    estimator, stream = estimators.create(NAME, chains=CHAINS, **options), training_stream(len(rbm.W), seed=seed)
    return estimator, estimator.start(rbm, DATA, 6, stream), stream


def advance(estimator, rbm, state, stream, calls=1):
    """Return the diagnostics of some negative phases with a fixed model."""
    batch = np.repeat(DATA[None, :6], len(rbm.W), axis=0).astype(rbm.W.dtype)
    return [estimator.estimate(rbm, batch, state, stream).diagnostics for _ in range(calls)]


@pytest.fixture(scope="module")
def rbm():
    return random_rbm(M, N, (R,), scale=0.5, seed=4)


def test_partners_are_distinct_and_uniform():
    replicas, chains = 4001, 5
    estimator = estimators.create(NAME, members=3)
    partners = estimator._partners(np.random.default_rng(0).random((replicas, chains + 1)))
    own = partners - 15 * np.arange(replicas)[:, None]
    assert own.min() == 0
    assert own.max() == 14
    assert all(len(set(each)) == chains for each in own.tolist())
    # Members 0 to 14 are equally likely partners of every chain: Pearson's statistic, error rate 1e-4 in all.
    for chain in range(chains):
        counts, expected = np.bincount(own[:, chain], minlength=15), replicas / 15
        assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-4 / chains, 14)


def test_first_checkpoint_has_exact_samples_and_log_z(rbm):
    _, state, _ = started(rbm, members=1009)
    assert state["reservoir"].shape == (R, CHAINS * 1009, M)
    assert state["reservoir"].dtype == np.uint8
    assert not state["frozen_W"].any()
    for r in range(R):
        first = RBM(*(state[f"frozen_{name}"][r] for name in "Wbc"))
        table = Enumerated.of(first)
        assert state["log_partition"][r] == pytest.approx(table.log_partition, rel=1e-12)
        np.testing.assert_allclose(state["reservoir_energy"][r], first.free_energy(state["reservoir"][r]), rtol=1e-12)
        rates = 1 / (1 + np.exp(-first.b))
        deviation = np.sqrt(rates * (1 - rates) / (CHAINS * 1009))
        assert (np.abs(state["reservoir"][r].mean(axis=0) - rates) < 5 * deviation).all()


def test_rates_of_the_first_checkpoint_are_those_of_a_trained_model():
    rbm = train(DATA, hidden=N, estimator="exact", iterations=4000, batch=23, rate=0.5, evaluate_every=4000).rbm
    estimator, stream = estimators.create(NAME, chains=2003), training_stream(1)
    bias = estimator.start(rbm, DATA, 6, stream)["frozen_b"][0]
    np.testing.assert_allclose(1 / (1 + np.exp(-bias)), DATA.mean(axis=0), rtol=0, atol=0.1)


def test_a_constant_model_becomes_a_checkpoint_once(rbm):
    estimator, state, stream = started(rbm)
    first, *others = advance(estimator, rbm, state, stream, 7)
    assert (first["checkpoints"] >= 1).all()
    for name, part in zip("Wbc", rbm.parameters, strict=True):
        np.testing.assert_array_equal(state[f"frozen_{name}"], part)
    np.testing.assert_allclose(state["reservoir_energy"], rbm.free_energy(state["reservoir"]), rtol=1e-12)
    plain = (2 * 1 + 3) * CHAINS
    # At least 20 rounds and one per tenth of the reservoir; free energies of the old and the new reservoir.
    assert (first["row_products"] >= plain + 4 * CHAINS * (20 + 10) + 20 * CHAINS).all()
    for later in others:
        np.testing.assert_array_equal(later["checkpoints"], first["checkpoints"])
        np.testing.assert_array_equal(later["row_products"], plain)
        np.testing.assert_allclose(later["swap_acceptance"], 1, atol=1e-12)


@pytest.mark.parametrize("k", [1, 3])
def test_draws_are_one_branch_one_exchange_and_two_a_step(k, rbm):
    estimator, state, stream = started(rbm, k=k)
    for _ in range(2):  # with and without a new checkpoint
        before = stream.number
        (diagnostics,) = advance(estimator, rbm, state, stream)
        assert stream.number == before + 2 + 2 * k
    np.testing.assert_array_equal(diagnostics["row_products"], (2 * k + 3) * CHAINS)


def test_products_are_those_of_pcd_and_of_exchanges_and_reservoirs(rbm):
    estimator, state, stream = started(rbm, k=3)
    pcd = estimators.create("pcd", k=3, chains=CHAINS)
    least = estimator.products(6, M, N)
    assert least == pytest.approx(pcd.products(6, M, N) + 2 * CHAINS / 6)
    calls = advance(estimator, rbm, state, stream, 2)
    first, later = ({name: float(values[0]) for name, values in diagnostics.items()} for diagnostics in calls)
    assert estimator.products(6, M, N, later) == pytest.approx(least)
    assert estimator.products(6, M, N, first) > least + 8 * 30 * CHAINS / 6


def test_distant_models_have_checkpoints_between(rbm):
    strong = RBM(4 * rbm.W, rbm.b, rbm.c)
    estimator, state, stream = started(strong)
    (diagnostics,) = advance(estimator, strong, state, stream)
    assert (diagnostics["checkpoints"] > 1).all()
    np.testing.assert_array_equal(state["frozen_W"], strong.W)


def test_infinite_parameters_add_no_checkpoint(rbm):
    estimator, state, stream = started(rbm)
    infinite = rbm.copy()
    infinite.W[1, 2, 3] = np.inf
    with np.errstate(all="ignore"):
        advance(estimator, infinite, state, stream)
    assert state["checkpoints"].tolist()[1] == 0
    assert state["checkpoints"][0] >= 1


def test_checkpoints_of_a_replica_do_not_depend_on_other_replicas():
    # Only replica 1 changes and adds checkpoints. All bytes of its state are compared.
    start = random_rbm(M, N, (R,), scale=0.1, seed=4, dtype=np.float32)
    ends = []
    for cut in (slice(0, 3), slice(1, 2)):
        rbm, stream = start[cut].copy(), training_stream(R)
        stream.trials = stream.trials[cut]
        estimator = estimators.create(NAME, chains=CHAINS)
        state = estimator.start(rbm, DATA, 6, stream)
        frozen = []
        for _ in range(31):
            rbm.W[0 if cut.start else 1, :4] += np.float32(0.1)
            frozen.append(advance(estimator, rbm, state, stream)[0]["checkpoints"])
        ends.append((state, np.array(frozen)))
    (together, frozen), (alone, _) = ends
    assert frozen[-1, 1] > frozen[0, 1] + 1
    assert (frozen[-1, [0, 2]] == frozen[0, [0, 2]]).all()
    for name, part in together.items():
        assert part[1:2].tobytes() == alone[name].tobytes(), name


@pytest.mark.parametrize("threads", [1, 2])
def test_runs_with_checkpoints_do_not_depend_on_shards(threads, monkeypatch):
    # Every trial falls below this threshold, at different iterations.
    run = {"hidden": N, "estimator": NAME, "options": {"threshold": 0.97}, "batch": 6, "trials": 5, "rate": 0.5}
    plain = train(DATA, iterations=60, evaluate_every=10, **run)
    frozen = plain.curve[plain.curve.metric == "checkpoints"].value
    assert frozen.max() > 3
    assert frozen[plain.curve.iteration == 60].nunique() > 1
    monkeypatch.setattr(shards, "SHARD_BYTES", 1)
    other = train(DATA, iterations=60, evaluate_every=10, threads=threads, **run)
    assert other.rbm.W.tobytes() == plain.rbm.W.tobytes()
    np.testing.assert_array_equal(other.curve.value, plain.curve.value)


def test_autocorrelation_time_of_a_chain_of_order_one():
    # x' = a x + noise has rho(t) = a^t, and 1/2 + sum a^t = 1/2 + a / (1 - a).
    rng, a = np.random.default_rng(3), 0.8
    series = [rng.normal(size=1009)]
    for _ in range(400):
        series.append(a * series[-1] + np.sqrt(1 - a * a) * rng.normal(size=1009))
    # The sum ends at five times the result, which omits about exp(-5) of it.
    assert _autocorrelation_time(np.array(series)) == pytest.approx(0.5 + a / (1 - a), rel=0.05)
    assert _autocorrelation_time(rng.normal(size=(401, 1009))) == pytest.approx(0.5, abs=0.05)
    assert _autocorrelation_time(np.ones((5, 3))) == 0.5


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("threshold", 0, "a number above 0 and below 1"),
        ("threshold", 1.0, "a number above 0 and below 1"),
        ("threshold", 2, "a number from 0 to 1"),
        ("members", 0, "an integer >= 1"),
        ("k", 1.5, "an integer >= 1"),
    ],
)
def test_invalid_options_raise_one_line(option, value, allowed):
    with pytest.raises(SettingsError, match=rf"^option {option!r}: must be {allowed}, got {value!r}\Z"):
        estimators.create(NAME, **{option: value})
