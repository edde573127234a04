# SPDX-License-Identifier: BSD-3-Clause
"""Trajectory tempering and log Z along trajectories, on ladders of enumerated models."""

import gc
import itertools
import weakref

import numpy as np
import pytest
from core_helpers import Enumerated, holds, random_rbm, training_stream, two_mode_rbm
from scipy.stats import chi2, norm

from rbmbench.base.errors import SettingsError
from rbmbench.base.metrics import NORMAL
from rbmbench.base.streams import Purpose, Stream
from rbmbench.likelihood import bennett_log_partition, exact_log_partition, trajectory_ais_log_partition
from rbmbench.likelihood.trajectories import acceptance, bennett_ratio
from rbmbench.model.rbm import RBM
from rbmbench.model.trajectories import between, from_independent, independent_model
from rbmbench.samplers import TrajectoryTempering, choose_ladder, exact_samples
from rbmbench.samplers.trajectory_tempering import expected_acceptance

ERROR_RATE = 1e-5  # of every single comparison in this file
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def scaled(rbm, shares):
    """Return models interpolated from zeros to ``rbm`` at these shares, (levels, ...)."""
    models = [between(independent_model(rbm, 0 * rbm.b), rbm, share) for share in shares]
    return RBM(*(np.stack(parts) for parts in zip(*(model.parameters for model in models), strict=True)))


def tables_of(models):
    return [Enumerated.of(models[level]) for level in range(len(models.W))]


def laws_of(tables):
    return [table.joint.sum(axis=1) for table in tables]


def equilibrium(tables, chains, dtype=np.float64, seed=1):
    """Return independent states of each level, (levels, chains, m)."""
    rng = np.random.default_rng(seed)
    states = [t.visible[rng.choice(len(law), chains, p=law)] for t, law in zip(tables, laws_of(tables), strict=True)]
    return np.stack(states).astype(dtype)


# Rounds on an enumerated ladder.


def metropolis(tables, x, y):
    """Return the probabilities of acceptance from energies: x of the lower model, y of the upper one."""
    low, high = (np.logaddexp.reduce(-table.energy, axis=1) for table in tables)
    return np.minimum(1, np.exp(low[y] + high[x] - low[x] - high[y]))


def sign_flipped(tables, x, y):
    """Return wrong probabilities, with the opposite sign."""
    return metropolis(tables, y, x)


def swap_matrix(tables, rule):
    """Return the transition matrix of an exchange over pairs of visible states, (states^2, states^2)."""
    states = len(tables[0].visible)
    x, y = (index.ravel() for index in np.indices((states, states)))
    accepted = rule(tables, x, y)
    matrix = np.diag(1 - accepted)
    matrix[x * states + y, y * states + x] += accepted
    return matrix


def round_law(tables, start, rule):
    """Return the distribution of the states of all chains after a round of swaps and a step, (states,) * levels."""
    states, levels = len(tables[0].visible), len(tables)
    law = np.zeros((states,) * levels)
    law[start] = 1
    for low in (*range(0, levels - 1, 2), *range(1, levels - 1, 2)):
        moved = np.moveaxis(law, (low, low + 1), (0, 1)).reshape(states**2, -1)
        moved = (swap_matrix(tables[low : low + 2], rule).T @ moved).reshape((states,) * levels)
        law = np.moveaxis(moved, (0, 1), (low, low + 1))
    for level, table in enumerate(tables):
        law = np.moveaxis(np.tensordot(table.gibbs.T, law, axes=(1, level)), 0, level)
    return law


@pytest.fixture(scope="module")
def ladder():
    return scaled(random_rbm(2, 3, scale=1.5, seed=3), [0, 0.4, 1])


@DTYPES
def test_one_round_has_the_enumerated_distribution(ladder, dtype):
    tables, chains, rejected = tables_of(ladder), 20_011, 0
    starts = list(itertools.product(range(4), repeat=3))[::5]
    for seed, start in enumerate(starts):
        visible = np.repeat(tables[0].visible[list(start)][:, None], chains, axis=1).astype(dtype)
        TrajectoryTempering(ladder.astype(dtype)).advance(visible, 1, training_stream(3, seed=seed))
        numbers = 4 ** np.arange(2, -1, -1) @ tables[0].numbers_of(visible)
        assert holds(numbers, round_law(tables, start, metropolis).ravel())
        rejected += not holds(numbers, round_law(tables, start, sign_flipped).ravel())
    assert rejected > len(starts) / 2


@DTYPES
@pytest.mark.parametrize(("rounds", "k"), [(1, 1), (1, 3), (5, 1)])
def test_rounds_leave_the_distributions_of_all_levels_unchanged(rounds, k, dtype):
    models = scaled(two_mode_rbm(5, 3, coupling=12.0), [0, 0.2, 0.4, 0.7, 1])
    tables, chains = tables_of(models), 40_009
    visible = equilibrium(tables, chains, dtype)
    TrajectoryTempering(models.astype(dtype), k).advance(visible, rounds, training_stream(5))
    for states, table, law in zip(visible, tables, laws_of(tables), strict=True):
        assert holds(table.numbers_of(states), law)


def test_states_redrawn_at_the_first_level_reach_the_last():
    # Chains start in one of two modes, which Gibbs steps leave once in thousands.
    models = scaled(two_mode_rbm(5, 3, coupling=30.0), np.linspace(0, 1, 9))
    tables, chains = tables_of(models), 2003
    law = laws_of(tables)[-1]
    visible = np.zeros((9, chains, 5))
    step = TrajectoryTempering(models[-2:]).advance(visible[-2:].copy(), 200, training_stream(2))
    assert step.shape == (200, 1, 2, chains)
    short_ladder = np.zeros((2, chains, 5))
    TrajectoryTempering(models[-2:]).advance(short_ladder, 200, training_stream(2))
    assert not holds(tables[-1].numbers_of(short_ladder[1]), law)
    TrajectoryTempering(models).advance(visible, 200, training_stream(9))
    assert holds(tables[-1].numbers_of(visible[-1]), law)


def test_rounds_in_pieces_equal_rounds_in_one_call():
    models = scaled(random_rbm(7, 5, scale=1.0, seed=3, dtype=np.float32), [0, 0.3, 0.6, 1])
    sampler, runs = TrajectoryTempering(models, k=2), []
    for pieces in ([5], [2, 3]):
        stream = training_stream(4)
        visible = sampler.start(11, stream)
        runs.append((visible, np.concatenate([sampler.advance(visible, count, stream) for count in pieces])))
        assert stream.number == 1 + 5 * 6
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    np.testing.assert_array_equal(runs[0][1], runs[1][1])


# Acceptance and choice of levels.


def exact_acceptance(tables):
    """Return the acceptance of exchanges of equilibrium states of two models."""
    x, y = np.indices((len(tables[0].visible),) * 2)
    return float((np.outer(*laws_of(tables)) * metropolis(tables, x, y)).sum())


def test_acceptances_equal_the_enumerated_ones():
    models = scaled(random_rbm(5, 3, scale=1.2, seed=7), [0, 0.3, 0.5, 1])
    tables, chains = tables_of(models), 50_021
    expected = [exact_acceptance(pair) for pair in itertools.pairwise(tables)]
    visible = equilibrium(tables, chains)
    differences = TrajectoryTempering(models).advance(visible, 1, training_stream(4))
    # Hoeffding's bound of means of numbers from 0 to 1; weights make the second estimate four times as wide.
    bound = np.sqrt(np.log(2 / ERROR_RATE) / (2 * chains))
    np.testing.assert_allclose(acceptance(differences), expected, rtol=0, atol=bound)
    from_below = [expected_acceptance(difference[0]) for difference in differences[0]]
    np.testing.assert_allclose(from_below, expected, rtol=0, atol=4 * bound)


def test_expected_acceptance_is_the_mean_over_pairs():
    log_weights = np.random.default_rng(2).normal(size=13)
    w = np.exp(log_weights)
    expected = np.minimum(w[:, None], w[None]).sum() / (13 * w.sum())
    assert expected_acceptance(log_weights + 700) == pytest.approx(expected, rel=1e-12)
    assert expected_acceptance(np.zeros(3)) == pytest.approx(1)


def test_acceptances_of_the_chosen_levels_are_near_the_target():
    models = scaled(two_mode_rbm(11, 5, coupling=25.0), np.linspace(0, 1, 41))
    levels, visible = choose_ladder(models, target=0.3, chains=1009, rounds=60, seed=3)
    tables = tables_of(models[levels])
    assert (levels[0], levels[-1]) == (0, 40)
    assert 3 < len(levels) < 20
    # The choice is from 1009 samples. The last level is always the last model.
    chosen = [exact_acceptance(pair) for pair in itertools.pairwise(tables)]
    assert min(chosen) > 0.25
    for low, high in itertools.pairwise(levels[:-1]):
        assert exact_acceptance(tables_of(models[[low, high + 1]])) < 0.36
    assert visible.shape == (len(levels), 1009, 11)
    ones = visible[-1].mean(axis=-1) > 0.5
    share = laws_of(tables)[-1] @ (tables[-1].visible.mean(axis=1) > 0.5)
    assert abs(ones.mean() - share) < 6 * np.sqrt(share * (1 - share) / 1009)


@pytest.mark.parametrize("first", [0.1, 1.0])
def test_a_ladder_without_a_first_level_of_zero_weights_raises(first):
    models = scaled(random_rbm(5, 3), [first, 1])
    with pytest.raises(SettingsError, match="models: must begin with W = 0"):
        choose_ladder(models)
    with pytest.raises(SettingsError, match="must begin with W = 0"):
        trajectory_ais_log_partition(models)
    with pytest.raises(SettingsError, match=r"must have W of shape \(levels, m, n\), .*, got \(5, 3\)"):
        TrajectoryTempering(models[0])


# log Z.

M, N = 23, 16


@pytest.fixture(scope="module")
def path():
    """A path of models with 16 hidden units, other than one of inverse temperatures, and their log Z."""
    ends = random_rbm(M, N, (2,), scale=0.4, seed=8)
    first = independent_model(ends[0], ends[0].b)
    parts = [between(first, ends[0], share) for share in np.linspace(0, 1, 6)[1:-1]]
    parts += [between(*ends, share) for share in np.linspace(0, 1, 13)]
    models = RBM(*(np.stack(p) for p in zip(*(model.parameters for model in parts), strict=True)))
    models = from_independent(models)
    return models, exact_log_partition(models)


@DTYPES
def test_bennett_ratios_are_within_their_error_of_exact_values(path, dtype):
    models, truth = path
    chains, levels = 401, len(models.W)
    visible = exact_samples(models, chains, Stream(2, range(levels), Purpose.SAMPLES)).astype(dtype)
    sampler = TrajectoryTempering(models.astype(dtype))
    differences = sampler.advance(visible, 30, Stream(3, range(levels), Purpose.SAMPLES))
    estimate = bennett_log_partition(truth[0], differences)
    assert (estimate.log_partition[0], estimate.standard_error[0]) == (truth[0], 0)
    assert (estimate.standard_error[1:] < 0.1).all()
    z = (estimate.log_partition - truth)[1:] / estimate.standard_error[1:]
    assert np.abs(z).max() < norm.isf(ERROR_RATE / 2 / levels)


def test_errors_of_bennett_ratios_are_those_of_repetitions(path):
    # Rounds are correlated: errors of independent samples would be too small. 61 repetitions, chi-squared.
    models = path[0][[0, 3, 6, 9]]
    repetitions, chains = 61, 23
    visible = exact_samples(models, repetitions * chains, Stream(5, range(4), Purpose.SAMPLES))
    differences = TrajectoryTempering(models).advance(visible, 40, Stream(6, range(4), Purpose.SAMPLES))
    parts = np.split(differences, repetitions, axis=-1)
    estimates = [bennett_log_partition(0.0, part) for part in parts]
    last = np.array([each.log_partition[-1] for each in estimates])
    errors = np.array([each.standard_error[-1] for each in estimates])
    ratio = last.var(ddof=1) / (errors**2).mean() * (repetitions - 1)
    # The mean of 61 variances with 22 degrees of freedom each is off by about 4 %: limits at a tenth of the rate.
    assert chi2.ppf(ERROR_RATE / 10, repetitions - 1) < ratio < chi2.isf(ERROR_RATE / 10, repetitions - 1)


@pytest.mark.parametrize("spread", [1, 30])
def test_interval_without_overlap_is_the_range_of_the_differences(spread):
    lower, upper = np.random.default_rng(8).normal([[[-211.0]], [[307.0]]], spread, (2, 5, 7))
    values, errors = bennett_log_partition(0.0, np.stack([lower, upper], axis=1)[:, None])
    value, error = values[1], errors[1]
    assert value - NORMAL * error < lower.min()
    assert value + NORMAL * error > upper.max()
    assert error < np.ptp([lower, upper])


def test_bennett_ratios_keep_no_references_to_arrays():
    lower, upper = np.random.default_rng(0).normal(size=(2, 53))
    reference = weakref.ref(lower)
    gc.disable()  # which would free reference cycles
    try:
        bennett_ratio(lower, upper)
        del lower
        assert reference() is None
    finally:
        gc.enable()


@DTYPES
@pytest.mark.parametrize("steps", [3, 7])
def test_annealing_along_trajectories_is_within_its_error(path, dtype, steps):
    models, truth = path
    repeated = RBM(*(np.repeat(p[:, None], 20, axis=1) for p in models.astype(dtype).parameters))
    estimate = trajectory_ais_log_partition(repeated, particles=701, steps=steps, seed=4)
    assert estimate.log_partition.shape == (len(models.W), 20)
    np.testing.assert_allclose(estimate.log_partition[0], truth[0], rtol=1e-6)
    assert (estimate.effective_sample_size > 70).all()
    z = (estimate.log_partition[-1] - truth[-1]) / estimate.standard_error[-1]
    assert np.abs(z).max() < norm.isf(ERROR_RATE / 4 / 20)
    assert chi2.ppf(ERROR_RATE / 4, 20) < (z**2).sum() < chi2.isf(ERROR_RATE / 4, 20)


def test_annealing_of_a_trajectory_does_not_depend_on_the_others():
    models = scaled(random_rbm(13, 5, replicas=(3,), scale=1.0, seed=2, dtype=np.float32), [0, 0.5, 1])
    estimates = trajectory_ais_log_partition(models, particles=31, seed=3)
    single = trajectory_ais_log_partition(models[:, 2], particles=31, seed=3, keys=[2])
    np.testing.assert_array_equal(single.log_partition, estimates.log_partition[:, 2])


def test_weights_along_few_models_are_unbiased():
    # Particles far from equilibrium detect transitions that change their distribution.
    models = scaled(random_rbm(7, 3, scale=1.2, seed=3), [0, 0.6, 1])
    estimate = trajectory_ais_log_partition(models, particles=200_003, seed=5)
    z = (estimate.log_partition - exact_log_partition(models))[1:] / estimate.standard_error[1:]
    assert (estimate.standard_error < 0.05).all()
    assert np.abs(z).max() < norm.isf(ERROR_RATE / 2)
