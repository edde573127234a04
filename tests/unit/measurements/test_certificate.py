# SPDX-License-Identifier: BSD-3-Clause
"""Certificates: quantities, verdicts and subcommands."""

import numpy as np
import pandas as pd
import pytest
from core_helpers import all_states, binary_data, random_rbm
from scipy import sparse
from scipy.stats import norm

from rbmbench import datasets
from rbmbench.base.errors import DataError, SettingsError, StoppedError
from rbmbench.base.settings import CertificateSettings, Tempering
from rbmbench.cli import main
from rbmbench.io import results
from rbmbench.likelihood import (
    data_statistics,
    exact_log_partition,
    exact_model_statistics,
    log_likelihood,
    tempered_log_partition,
)
from rbmbench.measurements import certificate as module
from rbmbench.measurements.certificate import certificate, r_hat
from rbmbench.measurements.distances import RowMoments, adversarial_accuracy
from rbmbench.measurements.verdicts import CERTIFIED, DOUBTFUL, NOT_CERTIFIED, facts, verdict
from rbmbench.model.enumeration import empirical_distribution, visible_distribution
from rbmbench.model.rbm import RBM
from rbmbench.model.sparse_rows import SparseRows
from rbmbench.training.checkpoint import Checkpointer

M, N, TRIALS = 7, 5, 3
SMALL = {"particles": 23, "temperatures": 29, "chains": 11, "ladder": 5, "sweeps": 131, "walkers": 13, "steps": 19}
SETTINGS = CertificateSettings(**SMALL, rows=17, seed=3)


@pytest.fixture(scope="module")
def rbm():
    return random_rbm(M, N, (TRIALS,), seed=4, dtype=np.float32)


@pytest.fixture(scope="module")
def rows():
    return binary_data(31, M, 1)


@pytest.fixture(scope="module")
def quantities(rbm, rows):
    return certificate(rbm, rows, SETTINGS, binary_data(19, M, 2))


def scalars(quantities, trial=0):
    selected = quantities[(quantities["trial"] == trial) & (quantities["step"] == 0)]
    return selected.set_index("quantity")["value"].to_dict()


def exact_samples(rbm, chains, each, seed):
    """Return independent samples of one model, (chains, each, m)."""
    probabilities = visible_distribution(rbm)[0]
    states = all_states(rbm.visible_units)
    generator = np.random.default_rng(seed)
    return states[generator.choice(len(states), (chains, each), p=probabilities)].astype(np.uint8)


# --- Distances -------------------------------------------------------------------------------------------------------


def test_the_distance_of_moments_is_a_mean_over_pairs_of_different_chains(rows):
    samples = binary_data(5 * 3, M, 5).reshape(5, 3, M)
    x, y = (part.reshape(-1, M) - rows.mean(axis=0) for part in (samples, rows))
    kernel = (1 + x @ x.T) ** 2
    apart = np.repeat(np.arange(5), 3)[:, None] != np.repeat(np.arange(5), 3)
    expected = kernel[apart].mean() - 2 * ((1 + x @ y.T) ** 2).mean() + ((1 + y @ y.T) ** 2).mean()
    covariance = np.cov(rows.T, bias=True)
    scale = (covariance**2).sum() - (np.diag(covariance) ** 2).sum()
    assert RowMoments(rows).distance(samples)[0] == pytest.approx(expected / scale, rel=1e-9)


def test_the_distance_is_unbiased_and_its_error_is_right(rows):
    """The mean of 400 distances deviates from the exact one by less than 4 standard errors; error rate 1e-4."""
    rbm = random_rbm(M, N, (1,), seed=6, dtype=np.float64)
    probabilities = visible_distribution(rbm)[0]
    x = all_states(M) - rows.mean(axis=0)
    covariance = np.cov(rows.T, bias=True)
    mean, second = probabilities @ x, (x * probabilities[:, None]).T @ x
    scale = (covariance**2).sum() - (np.diag(covariance) ** 2).sum()
    exact = (2 * (mean**2).sum() + ((second - covariance) ** 2).sum()) / scale
    drawn = [RowMoments(rows).distance(exact_samples(rbm, 37, 2, seed)) for seed in range(400)]
    values, errors = (np.array(part) for part in zip(*drawn, strict=True))
    assert abs(values.mean() - exact) < 4 * values.std() / np.sqrt(400)
    assert errors.mean() == pytest.approx(values.std(), rel=0.2)


def test_independent_units_are_at_distance_one():
    generator = np.random.default_rng(7)
    rows = np.repeat(generator.integers(0, 2, (2, M)), 500, axis=0).astype(np.uint8)
    samples = (generator.random((3000, 1, M)) < rows.mean(axis=0)).astype(np.uint8)
    value, error = RowMoments(rows).distance(samples)
    assert abs(value - 1) < 4 * error < 0.4


def test_adversarial_accuracy_of_equal_distant_and_similar_rows():
    generator = np.random.default_rng(8)
    rows, others = (generator.integers(0, 2, (211, 61)).astype(np.uint8) for _ in range(2))
    assert adversarial_accuracy(rows, rows) == 0
    assert adversarial_accuracy(np.zeros_like(rows), np.ones_like(rows)) == 1
    # 422 nearest neighbours, each of its kind with probability 1/2: four standard deviations, p < 1e-4.
    assert abs(adversarial_accuracy(rows, others) - 0.5) < 4 * 0.5 / np.sqrt(422)


def test_r_hat_is_large_for_chains_that_have_not_mixed():
    values = np.random.default_rng(9).normal(size=(23, 16))
    assert r_hat(values) == pytest.approx(1, abs=0.05)
    assert r_hat(values + 3 * (np.arange(23) % 2)[:, None]) > 1.5
    assert r_hat(np.ones((23, 16))) == 1


# --- Quantities ------------------------------------------------------------------------------------------------------


def test_every_model_has_each_quantity_once(quantities):
    assert not quantities.duplicated(["trial", "quantity", "step"]).any()
    assert sorted(quantities["trial"].unique()) == list(range(TRIALS))
    assert np.isfinite(quantities["value"]).all()
    walks = quantities[quantities["step"] > 0]
    assert sorted(walks["step"].unique()) == [1, 2, 4, 8, 16]
    assert set(walks["quantity"]) == {"from_noise", "from_noise_error", "from_rows", "from_rows_error"}


def test_interval_of_log_z_contains_the_intervals_of_both_sides(quantities, rbm):
    for trial in range(TRIALS):
        values = scalars(quantities, trial)
        assert values["exact_log_partition"] == pytest.approx(exact_log_partition(rbm)[trial], rel=1e-6)
        for side in ("forward", "reverse"):
            width = norm.ppf(0.975) * values[f"{side}_error"]
            assert values["log_partition_low"] <= values[f"{side}_log_partition"] - width + 1e-3
            assert values["log_partition_high"] >= values[f"{side}_log_partition"] + width - 1e-3


def test_the_interval_of_tempered_chains_is_that_of_their_estimate(rbm, rows):
    settings = SETTINGS.model_copy(update={"tempering": Tempering(target_error=0.2, products=100_000)})
    quantities = certificate(rbm, rows, settings)
    estimate = tempered_log_partition(rbm, rows, 0.2, 100_000, 3, keys=range(TRIALS))
    for trial in range(TRIALS):
        values = scalars(quantities, trial)
        value, error = estimate.log_partition[trial], estimate.standard_error[trial]
        assert values["log_partition_low"] == pytest.approx(value - norm.ppf(0.975) * error, abs=1e-4)
        assert values["log_partition_high"] == pytest.approx(value + norm.ppf(0.975) * error, abs=1e-4)
        assert values["tempered_error"] == error
        assert values["tempered_converged"] == estimate.converged[trial]
        words = next(facts(quantities[quantities["trial"] == trial]))
        assert f"{estimate.round_trips[trial]:.0f} round trips" in words
    assert not {name for name in values if name.startswith(("forward", "reverse"))}


def test_likelihoods_of_rows_and_of_independent_units(quantities, rbm, rows):
    values = scalars(quantities, 1)
    exact = log_likelihood(rbm[1], rows, exact_log_partition(rbm[1]))
    shift = values["log_partition_high"] - values["exact_log_partition"]
    assert values["log_likelihood_low"] == pytest.approx(exact - shift, rel=1e-5)
    rates = (rows.sum(axis=0) + 1) / (len(rows) + 2)
    expected = np.log(np.where(rows == 1, rates, 1 - rates)).sum(axis=1).mean()
    assert values["independent_log_likelihood"] == pytest.approx(expected, rel=1e-9)


def with_samples_of(rbm, rows, samples, monkeypatch):
    """Return the quantities of a model whose long chains are replaced by other samples."""
    monkeypatch.setattr(module._Rows, "_tempered", lambda self, rbm, stream: samples)
    return scalars(certificate(rbm, rows, SETTINGS))


def test_the_gain_of_a_temperature_is_that_of_a_newton_step(rows, monkeypatch):
    rbm = random_rbm(M, N, (1,), seed=11, dtype=np.float64)

    def likelihood(beta):
        scaled = RBM(*(beta * part for part in rbm.parameters))
        return log_likelihood(scaled, rows, exact_log_partition(scaled))[0]

    step = 1e-3
    above, here, below = (likelihood(beta) for beta in (1 + step, 1.0, 1 - step))
    slope, curvature = (above - below) / (2 * step), (above - 2 * here + below) / step**2
    assert curvature < 0
    values = with_samples_of(rbm, rows, exact_samples(rbm, 201, 50, 12), monkeypatch)
    assert values["temperature_gain"] == pytest.approx(slope**2 / (2 * -curvature), rel=0.1)
    assert 0 <= values["temperature_gain_low"] < values["temperature_gain"]


def test_the_rates_of_units_bound_the_divergence(rows, monkeypatch):
    """The largest KL(Bernoulli(p) || Bernoulli(q)) of rates p of rows and q of the model, over all units."""
    rbm = random_rbm(M, N, (1,), seed=13, dtype=np.float64)
    p, q = (np.concatenate([of.b[0], of.c[0]]) for of in (data_statistics(rbm, rows), exact_model_statistics(rbm)))
    divergence = (p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))).max()
    values = with_samples_of(rbm, rows, exact_samples(rbm, 201, 50, 14), monkeypatch)
    assert 0.8 * divergence < values["rate_divergence_low"] < divergence
    states, log_z = all_states(M), exact_log_partition(rbm)[0]
    model = np.exp(-rbm.free_energy(states[None])[0] - log_z)
    data = empirical_distribution(rows)
    assert values["rate_divergence_low"] < (data * np.log(data / model, where=data > 0, out=0 * data)).sum()


def test_certificate_of_a_model_does_not_depend_on_others(quantities, rbm, rows):
    alone = SETTINGS.model_copy(update={"first_model": 1, "models": 1})
    frame = certificate(rbm, rows, alone, binary_data(19, M, 2))
    pd.testing.assert_frame_equal(frame, quantities[quantities["trial"] == 1].reset_index(drop=True))


def test_a_certificate_resumes_from_its_checkpoint(quantities, rbm, rows, tmp_path):
    signals = iter([None, 15])
    stopping = Checkpointer(tmp_path / "c.npz", 0, lambda: next(signals))
    with pytest.raises(StoppedError, match="part 2 of 3"):
        certificate(rbm, rows, SETTINGS, binary_data(19, M, 2), checkpointer=stopping)
    again = certificate(rbm, rows, SETTINGS, binary_data(19, M, 2), checkpointer=Checkpointer(tmp_path / "c.npz", 0))
    pd.testing.assert_frame_equal(again, quantities)


@pytest.mark.parametrize("pack", [list, sparse.csr_array, lambda test: SparseRows(sparse.csr_array(test))])
def test_test_rows_of_any_form_count_unless_fewer_than_two(pack, quantities, rbm, rows):
    test = binary_data(19, M, 2)
    pd.testing.assert_frame_equal(certificate(rbm, rows, SETTINGS, pack(test)), quantities)
    few = certificate(rbm, rows, SETTINGS.model_copy(update={"models": 1}), pack(test[:1]))
    assert not few["quantity"].str.contains("test").any()


def test_invalid_rows_and_models_raise(rbm, rows):
    with pytest.raises(DataError, match="training data"):
        certificate(rbm, rows[:, 1:], SETTINGS)
    with pytest.raises(DataError, match="test data"):
        certificate(rbm, rows, SETTINGS, rows[:, 1:])
    with pytest.raises(SettingsError, match=r"models: must be at most 3, .*, got 4"):
        certificate(rbm, rows, SETTINGS.model_copy(update={"first_model": 2, "models": 2}))


# --- Verdicts --------------------------------------------------------------------------------------------------------

GOOD = {"log_partition_low": 9.9, "log_partition_high": 10.1, "forward_share": 0.9, "reverse_share": 0.8}
GOOD |= {"log_likelihood_low": -5.1, "log_likelihood_high": -4.9, "independent_log_likelihood": -8.0, "r_hat": 1.01}
GOOD |= {"temperature_gain_low": 0.001, "rate_divergence_low": 0.001, "distance": 0.1, "distance_error": 0.01}
GOOD |= {"accuracy": 0.55, "test_accuracy": 0.56, "compared_rows": 997.0, "held_out": 1.0}
for side in ("missing", "spurious"):
    GOOD |= {side: 0.0, f"{side}_low": 0.0, f"{side}_high": 0.0312, f"{side}_detectable": 0.0312}
WALKS = {1: 0.9, 2: 0.3, 4: 0.1}
NOT_CONVERGED = {"tempered_converged": 0.0, "tempered_error": 0.05}


def good_model(**changes):
    values = [(0, name, 0, value) for name, value in (GOOD | changes).items() if name != "walks"]
    for step, value in changes.get("walks", WALKS).items():
        values += [(0, "from_noise", step, value), (0, "from_noise_error", step, 0.02)]
    return pd.DataFrame(values, columns=list(module.COLUMNS))


def test_a_good_model_is_certified_without_reasons():
    judgement = verdict(good_model())
    assert (judgement.word, judgement.reasons, judgement.remarks) == (CERTIFIED, (), ())


FEW = "the rows are too few to see missing or spurious modes of less than"


@pytest.mark.parametrize(
    ("detectable", "words"),
    [(0.0312, "modes of at least 3.2% of the mass"), (0.37, f"{FEW} 37.0%"), (1.0, f"{FEW} 100.0%")],
)
def test_verdict_on_a_good_model_names_detectable_faults(detectable, words):
    judgement = verdict(good_model(spurious_detectable=detectable))
    assert words in judgement.in_words
    assert judgement.detectable == detectable
    assert (judgement.word, f"{judgement}") == (CERTIFIED, CERTIFIED)


def test_facts_name_the_rows_that_modes_are_compared_with():
    for held_out, words in ((1.0, "beside 997 held-out rows"), (0.0, "beside 997 training rows")):
        assert any(words in line for line in facts(good_model(held_out=held_out)))


@pytest.mark.parametrize(
    ("changes", "word", "reason"),
    [
        ({"log_partition_high": 12.0}, NOT_CERTIFIED, "log Z is known to 2.1 nats only"),
        ({"log_partition_high": 10.5}, DOUBTFUL, "log Z is known to 0.6 nats only"),
        ({"reverse_share": 0.002}, NOT_CERTIFIED, "annealing rests on 0.2% of its particles"),
        ({"forward_share": 0.05}, DOUBTFUL, "annealing rests on 5.0% of its particles"),
        (NOT_CONVERGED, DOUBTFUL, "tempered chains end before they converge, standard error of log Z 0.05 nats"),
        ({"r_hat": 1.3}, NOT_CERTIFIED, "tempered chains have not mixed, R hat 1.30"),
        ({"distance": 2.0}, NOT_CERTIFIED, "moments are 2 from those of the rows in long chains, 0.1 after 4 steps"),
        ({"log_likelihood_high": -8.5}, NOT_CERTIFIED, "0.5 nats per row worse than independent units"),
        ({"temperature_gain_low": 0.9}, NOT_CERTIFIED, "another temperature gains 0.9 nats per row"),
        ({"rate_divergence_low": 0.7}, NOT_CERTIFIED, "the rate of one unit alone costs 0.7 nats per row"),
        ({"missing_low": 0.06}, NOT_CERTIFIED, "at least 6.0% of the rows are where the model has less than a third"),
        ({"missing_low": 0.02}, DOUBTFUL, "at least 2.0% of the rows are where the model has less than a third"),
        ({"spurious_low": 0.06}, NOT_CERTIFIED, "at least 6.0% of the model's samples are where less than a third"),
        ({"spurious_low": 0.02}, DOUBTFUL, "at least 2.0% of the model's samples are where less than a third"),
        ({"log_partition_high": np.nan}, NOT_CERTIFIED, "log Z is known to nan nats only"),
    ],
)
def test_each_fault_has_its_reason(changes, word, reason):
    judgement = verdict(good_model(**changes))
    assert judgement.word == word
    assert any(words.startswith(reason) for words in judgement.reasons)
    assert judgement.in_words == f"{judgement}"


def test_an_uncertain_distance_is_no_fault():
    assert verdict(good_model(distance=2.0, distance_error=1.0)).word == CERTIFIED


def test_underfitting_and_overfitting_are_remarks():
    assert "underfitted" in verdict(good_model(accuracy=0.95, test_accuracy=0.95)).remarks[0]
    assert "overfitted" in verdict(good_model(accuracy=0.3)).remarks[0]
    assert verdict(good_model(accuracy=0.3)).word == CERTIFIED


# --- Subcommands -----------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path, rbm, rows):
    parts = {"train": rows, "validation": rows[:2], "test": rows[:3]}
    data = datasets.build("made", "Made", **parts, source="test", preprocessing="", options={})
    datasets.save(data, tmp_path / "data.npz")
    arrays = dict(zip(("W", "b", "c"), rbm.parameters, strict=True))
    results.write_arrays(tmp_path / "model.npz", arrays | {"iteration": 1, "seed": 0})
    return tmp_path


def test_certify_prints_a_verdict_for_each_model(files, capsys):
    budget = SETTINGS.model_dump_json()
    out = files / "numbers.csv"
    command = ["certify", f"{files / 'model.npz'}", "--data", f"{files / 'data.npz'}", "--settings", budget]
    assert main([*command, "--out", f"{out}"]) == 0
    printed = capsys.readouterr().out
    words = f"(nothing wrong found|{DOUBTFUL}|{NOT_CERTIFIED}): "
    assert len(pd.Series(printed.splitlines()).str.extract(rf"^model \d: {words}").dropna()) == TRIALS
    assert set(pd.read_csv(out).columns) == set(module.COLUMNS)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_gain_of_a_temperature_is_zero_for_zero_parameters(rows):
    flat = RBM(np.zeros((1, M, N)), np.zeros((1, M)), np.zeros((1, N)))
    quantities = certificate(flat, rows, SETTINGS)
    values = scalars(quantities)
    assert np.isfinite(quantities["value"]).all()
    assert (values["temperature_gain"], values["temperature_gain_low"]) == (0, 0)
    assert not any("nan" in line for line in facts(quantities))
