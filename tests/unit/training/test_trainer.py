# SPDX-License-Identifier: BSD-3-Clause
"""Training loop: steps against references, independence of threads, schedules, mini-batches, curves, errors."""

import re

import numpy as np
import pandas as pd
import pytest
from core_helpers import Enumerated, binary_data, expected_tosses, expected_uniforms, random_rbm, sigmoid, two_mode_rbm

from rbmbench import estimators
from rbmbench.base import pace
from rbmbench.base.errors import SettingsError, StoppedError, TrainingError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import RunSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.estimators.cd import CD
from rbmbench.likelihood import exact_log_partition, log_likelihood
from rbmbench.model.minibatches import MiniBatches
from rbmbench.model.rbm import initial_rbm
from rbmbench.training import shards, trainer
from rbmbench.training.trainer import run, train

ROWS, M, N, BATCH = 23, 7, 5, 6
DATA = binary_data(ROWS, M)
OPTIONS = {"parallel_tempering": {"temperatures": 3, "sets": 2}, "pop_cd_mixture": {"tau": 3}, "pcd": {"k": 2}}


def stage(estimator, until, rate=0.1):
    return {"until": until, "estimator": {"name": estimator, "options": OPTIONS.get(estimator, {})}, "rate": rate}


def settings_for(*stages, **changes):
    values = {"data": {"name": "made"}, "hidden": N, "batch": BATCH, "trials": 3, "seed": 11, "evaluate_every": 7}
    return parse(RunSettings, values | {"schedule": list(stages)} | changes, "test")


def bytes_of(rbm):
    return rbm.W.tobytes(), rbm.b.tobytes(), rbm.c.tobytes()


def assert_same(training, other):
    """Assert that two results are bitwise equal."""
    assert bytes_of(training.rbm) == bytes_of(other.rbm)
    pd.testing.assert_frame_equal(training.curve, other.curve, check_exact=True)


SCHEDULES = [[stage(name, 29)] for name in estimators.REGISTRY.names()] + [
    *([stage("cd", 29) | {"update": {"name": name}}] for name in ("sdcp", "ssd", "momentum")),
    [stage("pcd", 10) | {"update": {"name": "centered"}}, stage("cd", 29) | {"update": {"name": "cs_dcp"}}],
    [stage("cd", 5), stage("pcd", 14, 0.2), stage("parallel_tempering", 21, 0.01), stage("pop_cd", 29)],
    [stage("pcd", 10), stage("pcd", 12, 0.3), stage("pcd", 29)],
]


def parts_of(stage):
    return "_".join(stage[part]["name"] for part in ("update", "estimator") if part in stage)


SCHEDULE = pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: "-".join(map(parts_of, s)))


# Single iterations.


def initial_of(settings):
    trials = np.arange(settings.first_trial, settings.first_trial + settings.trials)
    stream = Stream(settings.seed, trials, Purpose.INITIAL_PARAMETERS)
    kind, width = settings.initial.kind, settings.initial.width
    return initial_rbm(M, settings.hidden, stream, kind, width, np.dtype(settings.precision))


def test_one_step_is_along_the_exact_gradient():
    settings = settings_for(stage("exact", 1, rate=0.375), batch=ROWS, precision="float64")
    initial = initial_of(settings)
    result = run(DATA, settings)
    for r in range(3):
        table = Enumerated.of(initial[r])
        gradient = table.f[table.numbers_of(DATA)].mean(axis=0) - table.expectation
        moved = np.concatenate([result.rbm.W[r].ravel(), result.rbm.b[r], result.rbm.c[r]])
        start = np.concatenate([initial.W[r].ravel(), initial.b[r], initial.c[r]])
        np.testing.assert_allclose(moved - start, 0.375 * gradient, rtol=0, atol=1e-14)


def test_two_steps_of_cd_equal_a_reference():
    settings = settings_for(stage("cd", 2, rate=0.25), precision="float64", first_trial=4)
    rbm, result = initial_of(settings), run(DATA, settings)
    W, b, c = rbm.W.copy(), rbm.b.copy(), rbm.c.copy()
    batches = MiniBatches(DATA, BATCH, settings.seed, [4, 5, 6], np.float64)
    stream = Stream(settings.seed, [4, 5, 6], Purpose.TRAINING)
    for iteration in range(2):
        v = batches.at(iteration)
        p = sigmoid(v @ W + c[:, None])
        h = (expected_tosses(stream.next(), BATCH * N).reshape(p.shape) < p).astype(float)
        q = sigmoid(h @ W.swapaxes(1, 2) + b[:, None])
        w = (expected_tosses(stream.next(), BATCH * M).reshape(q.shape) < q).astype(float)
        r = sigmoid(w @ W + c[:, None])
        W += 0.25 / BATCH * (np.einsum("tim,tin->tmn", v, p) - np.einsum("tim,tin->tmn", w, r))
        b += 0.25 / BATCH * (v - w).sum(axis=1)
        c += 0.25 / BATCH * (p - r).sum(axis=1)
    for expected, parameter in zip((W, b, c), (result.rbm.W, result.rbm.b, result.rbm.c), strict=True):
        np.testing.assert_allclose(parameter, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("initial", [{"kind": "normal", "width": 0.5}, {"kind": "uniform", "width": 0.25}])
def test_a_vanishing_rate_does_not_change_the_initial_parameters(precision, initial):
    settings = settings_for(stage("pop_cd", 3, rate=1e-300), precision=precision, initial=initial)
    assert bytes_of(run(DATA, settings).rbm) == bytes_of(initial_of(settings))


def test_initial_biases_are_the_base_rate_of_the_rows():
    initial = {"kind": "normal", "width": 0.01, "biases": "base_rate"}
    rbm = run(DATA, settings_for(stage("cd", 1, rate=1e-300), initial=initial, precision="float64")).rbm
    np.testing.assert_allclose(sigmoid(rbm.b), np.stack([DATA.mean(axis=0)] * 3), rtol=1e-12)
    np.testing.assert_allclose(rbm.c, 0, atol=1e-290)
    assert 0 < np.abs(rbm.W).max() < 0.1


# Independence of trials, threads, shards and interruptions.


@SCHEDULE
@pytest.mark.usefixtures("way")
def test_a_single_trial_equals_the_same_trial_of_25(schedule):
    batch = run(DATA, settings_for(*schedule, trials=25))
    single = run(DATA, settings_for(*schedule, trials=1, first_trial=7))
    assert bytes_of(single.rbm) == bytes_of(batch.rbm[7:8])
    expected_curve = batch.curve[batch.curve.trial == 7].reset_index(drop=True)
    pd.testing.assert_frame_equal(single.curve, expected_curve, check_exact=True)
    assert len({batch.rbm.W[r].tobytes() for r in range(25)}) == 25


@SCHEDULE
@pytest.mark.usefixtures("way")
def test_results_do_not_depend_on_threads_shards_pauses_evaluations(schedule, monkeypatch):
    settings = settings_for(*schedule)
    plain = run(DATA, settings)
    assert_same(run(DATA, settings, threads=2), plain)
    often = run(DATA, settings_for(*schedule, evaluate_every=1))
    assert bytes_of(often.rbm) == bytes_of(plain.rbm)
    monkeypatch.setattr(shards, "SHARD_BYTES", 1)
    assert_same(run(DATA, settings), plain)
    monkeypatch.setattr(pace, "PAUSE_SECONDS", 0.0)
    assert_same(run(DATA, settings), plain)


@pytest.mark.parametrize("estimator", ["cd", "pcd", "pop_cd"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_single_trial_of_large_layers_with_more_threads_is_equal(estimator, precision):
    # Large enough that BLAS would split a product, and that compiled chains and products divide the rows.
    data = binary_data(401, 784)
    options = {"hidden": 61, "batch": 131, "iterations": 3, "threads": 3, "options": {"k": 3}}
    options |= {"estimator": estimator, "precision": precision}
    three, single = (train(data, **options, trials=trials, first_trial=3 - trials) for trials in (3, 1))
    assert three.rbm.W[2].tobytes() == single.rbm.W[0].tobytes()


@SCHEDULE
def test_a_run_stopped_at_every_iteration_equals_one_never_stopped(schedule, tmp_path):
    settings, checkpoint = settings_for(*schedule), tmp_path / "run.npz"
    # Beyond two epochs and an evaluation, and beyond all stages.
    for iteration in range(1, 9 if len(schedule) == 1 else 29):
        # The first piece is one iteration; the second call returns a signal.
        signals = iter([None, 15])
        line = f"stopped at iteration {iteration} of 29; run the same command again to resume from {checkpoint}"
        with pytest.raises(StoppedError, match=f"^{re.escape(line)}$"):
            run(DATA, settings, checkpoint=checkpoint, threads=1 + iteration % 2, stopping=signals.__next__)
    resumed, whole = run(DATA, settings, checkpoint=checkpoint), run(DATA, settings)
    assert_same(resumed, whole)
    assert resumed.backend == whole.backend


def test_progress_is_reported_between_evaluations(monkeypatch):
    monkeypatch.setattr(pace, "PAUSE_SECONDS", 0.0)
    reports = []
    run(DATA, settings_for(stage("cd", 9)), progress=lambda *values: reports.append(values))
    assert [values[:2] for values in reports] == [(iteration, 9) for iteration in range(10)]
    # With the likelihood of the last evaluation.
    likelihoods = [value for _, _, value in reports]
    assert likelihoods == [likelihoods[0]] * 7 + [likelihoods[7]] * 2 + [likelihoods[9]]
    assert len(set(likelihoods)) == 3


# Schedules.


def test_stages_have_different_rates_and_estimators():
    first = run(DATA, settings_for(stage("cd", 10)))
    unchanged = run(DATA, settings_for(stage("cd", 10), stage("pop_cd", 20, rate=1e-300)))
    assert bytes_of(unchanged.rbm) == bytes_of(first.rbm)
    assert set(unchanged.curve.metric[unchanged.curve.iteration <= 10]) == {"log_likelihood", "log_partition"}
    assert "effective_sample_size" in set(unchanged.curve.metric[unchanged.curve.iteration > 10])
    moved, whole = (run(DATA, settings_for(*stages, stage("cd", 20))) for stages in ([stage("cd", 10)], []))
    assert bytes_of(moved.rbm) == bytes_of(whole.rbm)


def test_chains_are_started_anew_in_each_stage():
    # The second stage of PCD starts its chains at training rows, with a further draw.
    single, two = (run(DATA, settings_for(*stages, stage("pcd", 20))) for stages in ([], [stage("pcd", 10)]))
    early = [result.curve.query("iteration <= 7").reset_index(drop=True) for result in (single, two)]
    pd.testing.assert_frame_equal(*early)
    assert bytes_of(single.rbm) != bytes_of(two.rbm)


# Mini-batches.


def numbers_of(rows):
    return np.asarray(rows, np.int64) @ (1 << np.arange(rows.shape[-1]))


def distinct_rows(rows):
    return ((np.arange(rows)[:, None] >> np.arange(7)) & 1).astype(np.uint8)


def test_an_epoch_has_every_row_once_in_a_new_order():
    data, trials = distinct_rows(24), [0, 3]
    batches = MiniBatches(data, 6, 5, trials)
    assert batches.per_epoch == 4
    orders = []
    for epoch in range(3):
        shown = np.concatenate([batches.at(4 * epoch + i).copy() for i in range(4)], axis=1)
        assert shown.shape == (2, 24, 7)
        assert shown.dtype == np.float32
        orders += list(numbers_of(shown))
        # The permutation is the argsort of the draw with the number of the epoch.
        keys = expected_uniforms(Stream(5, trials, Purpose.MINI_BATCHES, epoch).next(), 24, np.float64)
        np.testing.assert_array_equal(numbers_of(shown), np.argsort(keys, axis=1))
    assert all(sorted(order) == list(range(24)) for order in orders)
    assert len({tuple(order) for order in orders}) == 6


def test_rows_left_over_are_not_in_the_epoch():
    batches = MiniBatches(distinct_rows(23), 6, 5, [0])
    assert batches.per_epoch == 3
    epochs = [np.concatenate([numbers_of(batches.at(3 * e + i))[0] for i in range(3)]) for e in range(40)]
    assert all(len(set(epoch)) == 18 for epoch in epochs)
    assert set(np.concatenate(epochs)) == set(range(23))


def test_mini_batches_are_a_function_of_trial_and_iteration():
    data = distinct_rows(24)
    batch, single, backwards = (MiniBatches(data, 6, 5, t) for t in (np.arange(9), [7], np.arange(9)))
    expected = [batch.at(i).copy() for i in range(11)]
    for i in (10, 3, 4, 0, 9):
        np.testing.assert_array_equal(backwards.at(i), expected[i])
        np.testing.assert_array_equal(single.at(i)[0], expected[i][7])
    assert not np.array_equal(MiniBatches(data, 6, 6, [7]).at(0), single.at(0))


def test_mini_batches_of_all_rows_are_not_permuted():
    batches = MiniBatches(DATA, ROWS, 5, [0, 1], np.float64)
    for iteration in (0, 1, 17):
        np.testing.assert_array_equal(batches.at(iteration), np.stack([DATA, DATA]))


def test_first_rows_of_epochs_are_uniformly_distributed():
    # Error rate 1e-3: Pearson's statistic with 23 degrees of freedom.
    first = numbers_of(MiniBatches(distinct_rows(24), 6, 1, np.arange(4801)).at(0))[:, 0]
    counts = np.bincount(first, minlength=24)
    assert ((counts - 4801 / 24) ** 2 / (4801 / 24)).sum() < 49.7


# Curves.


def test_the_curve_has_enumerated_likelihoods_at_all_evaluations():
    settings = settings_for(stage("pop_cd", 29), first_trial=4, precision="float64")
    reports = []
    result = run(DATA, settings, progress=lambda *report: reports.append(report))
    curve = result.curve
    assert list(curve.columns) == ["trial", "iteration", "metric", "value"]
    assert (curve.trial.dtype, curve.iteration.dtype, curve.value.dtype) == (np.int64, np.int64, np.float64)
    evaluated = [0, 7, 14, 21, 28, 29]
    counts = curve.groupby(["metric", "iteration"]).size()
    assert set(curve.trial) == {4, 5, 6}
    assert (counts == 3).all()
    assert {metric: list(counts[metric].index) for metric in set(curve.metric)} == {
        "log_likelihood": evaluated,
        "log_partition": evaluated,
        "effective_sample_size": evaluated[1:],
    }
    values = curve.set_index(["metric", "iteration", "trial"]).value
    for iteration, rbm in ((0, initial_of(settings)), (29, result.rbm)):
        for r in range(3):
            table = Enumerated.of(rbm[r])
            log_p = np.log(table.joint.sum(axis=1)[table.numbers_of(DATA)])
            np.testing.assert_allclose(values["log_likelihood", iteration, 4 + r], log_p.mean(), rtol=1e-12)
            np.testing.assert_allclose(values["log_partition", iteration, 4 + r], table.log_partition, rtol=1e-12)
    assert [(iteration, iterations) for iteration, iterations, _ in reports] == [(i, 29) for i in evaluated]
    np.testing.assert_allclose([v for _, _, v in reports], [values["log_likelihood", i].mean() for i in evaluated])
    assert {"startup_seconds", "training_seconds", "evaluation_seconds"} <= set(result.timings)
    assert min(result.timings.values()) >= 0


def test_diagnostics_are_means_or_maxima_since_the_last_evaluation():
    def values(estimator, metric, every):
        curve = run(DATA, settings_for(stage(estimator, 29), evaluate_every=every)).curve
        return curve[curve.metric == metric].pivot(index="iteration", columns="trial", values="value")

    for estimator, metric, summary, low, high in (
        ("pop_cd", "effective_sample_size", pd.DataFrame.mean, 1, BATCH),
        ("pop_cd_leave_one_out", "largest_weight_sum", pd.DataFrame.max, 1 - 1e-12, np.inf),
    ):
        each, sevenths = values(estimator, metric, 1), values(estimator, metric, 7)
        for last in (7, 14, 28):
            np.testing.assert_allclose(sevenths.loc[last], summary(each.loc[last - 6 : last]), rtol=1e-12)
        np.testing.assert_allclose(sevenths.loc[29], each.loc[29])
        assert low <= each.to_numpy().min() < each.to_numpy().max() <= high


def test_repeated_rows_are_counted_in_the_likelihood():
    data = np.repeat(DATA[:5], [3, 1, 4, 1, 5], axis=0)
    result = run(data, settings_for(stage("cd", 3), precision="float64"))
    value = log_likelihood(result.rbm, data, exact_log_partition(result.rbm))
    final = result.curve[(result.curve.metric == "log_likelihood") & (result.curve.iteration == 3)]
    np.testing.assert_allclose(final.value, value, rtol=1e-12)


# Likelihoods after training.


@pytest.fixture(scope="module")
def taught():
    """Rows drawn from a teacher of two modes, and the mean log-likelihood of the teacher on them."""
    teacher = two_mode_rbm(M, 3, coupling=8.0)
    table = Enumerated.of(teacher)
    p = table.joint.sum(axis=1)
    rows = table.visible[np.random.default_rng(5).choice(len(p), size=1009, p=p)].astype(np.uint8)
    return rows, float(log_likelihood(teacher, rows, exact_log_partition(teacher)))


def learnt(rows, *stages, batch):
    settings = settings_for(*stages, hidden=3, trials=2, batch=batch, precision="float64", evaluate_every=10**6)
    rbm = run(rows, settings).rbm
    return rbm, log_likelihood(rbm, rows, exact_log_partition(rbm))


def test_training_with_the_exact_gradient_reaches_a_stationary_point(taught):
    # At a stationary point E_model (v p(h|v)', v, p(h|v)) equals its mean over the rows, and the maximum of the
    # likelihood is no lower than the teacher's. The gradient may still be 1 % of the largest moment.
    rows, teachers = taught
    rbm, reached = learnt(rows, stage("exact", 2500, 0.1), batch=1009)
    for r in range(2):
        table = Enumerated.of(rbm[r])
        np.testing.assert_allclose(table.expectation, table.f[table.numbers_of(rows)].mean(axis=0), rtol=0, atol=5e-3)
    assert (reached > teachers).all()


def test_parallel_tempering_reaches_the_teacher_and_cd_does_not(taught):
    # The best fit is expected P / (2 rows) = 0.015 nats above the teacher, enough to pay for the noise of sampling.
    rows, teachers = taught
    rates = (1000, 0.2), (1500, 0.05), (2500, 0.01)
    _, tempered = learnt(rows, *(stage("parallel_tempering", *rate) for rate in rates), batch=200)
    assert (tempered > teachers).all()
    _, with_cd = learnt(rows, *(stage("cd", *rate) for rate in rates), batch=200)
    assert (with_cd < teachers - 0.05).all()


# Errors.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": 24}, "batch: must be at most the 23 rows of the data set, got 24"),
        ({"estimator": "pop-cd"}, "unknown estimator 'pop-cd'; nearest: 'pop_cd'"),
        ({"rate": float("nan")}, "train: schedule.0.rate: must be a finite number, got nan"),
        ({"estimator": "pop_cd_mixture", "options": {"tau": 5}}, "estimator 'pop_cd_mixture': tau: must "),
    ],
)
def test_invalid_settings_raise_a_one_line_error(change, message):
    values = {"hidden": N, "batch": BATCH, "iterations": 3} | change
    with pytest.raises(SettingsError, match=rf"\A{re.escape(message)}[^\n]*\Z"):
        train(DATA, **values)


def test_snapshots_beyond_the_memory_raise_before_training():
    with pytest.raises(SettingsError, match=r"^evaluate_every: must .*, got 100"):
        train(np.zeros((11, 31), np.uint8), hidden=29, batch=11, iterations=10**9)


class Spoilt(CD):
    """CD-1 with hidden means of NaN for trial 5 from iteration 16 on."""

    def negative_phase(self, rbm, positive, state, stream):
        """Return the negative phase of CD with NaN for trial 5."""
        population, state, diagnostics = super().negative_phase(rbm, positive, state, stream)
        if stream.number >= 32:
            population.hidden[stream.trials == 5] = np.nan
        return population, state, diagnostics


@pytest.mark.parametrize("threads", [1, 3])
def test_error_of_nonfinite_parameters_names_trial_and_iteration(threads, monkeypatch):
    monkeypatch.setitem(estimators.REGISTRY._makers, "spoilt", Spoilt)
    with pytest.raises(TrainingError, match=r"\Atrial 5: parameters are not finite at iteration 16; [^\n]*\Z"):
        run(DATA, settings_for(stage("spoilt", 29, 0.125), first_trial=3), threads=threads)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", ["cd", "pop_cd", "pcd", "parallel_tempering"])
def test_a_rate_beyond_float32_raises_a_one_line_error(name):
    with pytest.raises(TrainingError, match=r"^trial 3: parameters are not finite at iteration 11; .*1e\+39"):
        run(DATA, settings_for(stage(name, 10), stage(name, 20, 1e39), first_trial=3))


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_training_continues_with_large_parameters():
    # The second run has no evaluations in between.
    evaluated, other = (run(DATA, settings_for(stage("cd", 20, 1e33), evaluate_every=every)) for every in (1, 20))
    assert np.abs(evaluated.rbm.W).max() > 1e31
    assert bytes_of(evaluated.rbm) == bytes_of(other.rbm)
    assert np.isfinite(evaluated.curve["value"]).all()


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(("precision", "rate"), [("float32", 1e38), ("float64", 1e308)])
def test_parameters_too_large_for_a_likelihood_raise(precision, rate):
    with pytest.raises(
        TrainingError, match=r"^trial \d+: parameters are too large for finite energies at iteration 7; "
    ):
        run(DATA, settings_for(stage("cd", 20, rate), precision=precision))


def test_training_time_starts_after_a_step_of_every_stage(monkeypatch):
    # The first call of a kernel compiles it, which may take longer than the training of a small model.
    events, advance, train_until = [], trainer.Shard.advance, trainer.Loop._train_until

    def recorded_advance(shard, *iterations):
        events.append(shard.estimator.__class__.__name__)
        return advance(shard, *iterations)

    def recorded_train_until(loop, boundary):
        events.append(f"clock {boundary}")
        train_until(loop, boundary)

    monkeypatch.setattr(trainer.Shard, "advance", recorded_advance)
    monkeypatch.setattr(trainer.Loop, "_train_until", recorded_train_until)
    run(DATA, settings_for(stage("cd", 1), stage("pcd", 2)))
    assert events == ["CD", "PCD", "clock 1", "CD", "clock 2", "PCD"]


def test_training_continues_from_a_model():
    def trained(iterations, batch, **more):
        options = {"batch": batch, "estimator": "exact", "precision": "float64", "evaluate_every": 3}
        return train(DATA, iterations=iterations, **options, **more)

    # Epochs have four iterations: iterations 8 to 11 are of another epoch than iterations 0 to 3.
    first, whole = (trained(iterations, 5, hidden=N) for iterations in (8, 12))
    again = trained(4, 5, initial=first.rbm)
    ends = [result.curve.query("metric == 'log_likelihood'").set_index("iteration").value for result in (again, first)]
    assert ends[0][0] == pytest.approx(ends[1][8], abs=1e-12)
    assert (again.rbm.W != whole.rbm.W).any()
    first, whole = (trained(iterations, ROWS, hidden=N) for iterations in (8, 12))
    np.testing.assert_array_equal(trained(4, ROWS, initial=first.rbm[0]).rbm.W, whole.rbm.W)
    stacked = trained(4, ROWS, initial=first.rbm[[0, 0]], trials=None).rbm
    np.testing.assert_array_equal(stacked.W, np.repeat(whole.rbm.W, 2, axis=0))
    three = trained(4, ROWS, initial=first.rbm[0], trials=3).rbm
    np.testing.assert_array_equal(three.W, np.repeat(whole.rbm.W, 3, axis=0))


@pytest.mark.parametrize(("hidden", "initial", "trials"), [(3, (), 1), (None, (2,), 3), (None, (2, 3), None)])
def test_an_initial_model_of_a_wrong_shape_raises(hidden, initial, trials):
    values = {"hidden": hidden, "batch": 5, "iterations": 3, "trials": trials}
    with pytest.raises(SettingsError, match=r"^initial: must be an RBM of shape"):
        train(DATA, initial=random_rbm(M, N, initial), **values)
