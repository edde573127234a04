# SPDX-License-Identifier: BSD-3-Clause
"""Stationary distributions of samplers, and distribution of one sweep against enumeration.

There are about 100 comparisons, each with an error rate of 1e-5.
"""

import itertools

import numpy as np
import pytest
from core_helpers import Enumerated, holds, random_rbm, training_stream, two_mode_rbm

from rbmbench.model.gibbs import Buffers, sample_hidden, sample_visible
from rbmbench.samplers import ParallelTemperingSampler, create

M, N = 5, 3
STEPS = pytest.mark.parametrize(
    ("steps", "dtype"), [(1, np.float32), (4, np.float32), (16, np.float32), (4, np.float64)]
)
MODELS = pytest.mark.parametrize(
    "rbm", [random_rbm(M, N, scale=1.5, seed=31), two_mode_rbm(M, N, coupling=12.0)], ids=["random", "two modes"]
)


def drawn_from(probability, shape, seed):
    """Return independent state numbers."""
    return np.random.default_rng(seed).choice(len(probability), size=shape, p=probability)


@MODELS
@STEPS
def test_gibbs_sampling_leaves_the_joint_distribution_unchanged(rbm, steps, dtype):
    table, rbm, rows = Enumerated.of(rbm), rbm.astype(dtype).replicas, 100_003
    p_v = table.joint.sum(axis=1)
    visible, stream, buffers = table.visible[drawn_from(p_v, (1, rows), 0)].astype(dtype), training_stream(1), Buffers()
    for _ in range(steps):
        hidden = sample_hidden(rbm, visible, stream, buffers)
        visible = sample_visible(rbm, hidden, stream, buffers)
    assert holds(table.numbers_of(visible), p_v)
    # Visible states with the next hidden states have the distribution p(v, h).
    hidden = sample_hidden(rbm, visible, stream, buffers)
    joint = table.numbers_of(visible) * 2**N + (hidden @ 2.0 ** np.arange(N - 1, -1, -1)).astype(int)
    assert holds(joint, table.joint.ravel())


@MODELS
@pytest.mark.parametrize(
    ("name", "options"), [("gibbs", {"k": 3}), ("parallel_tempering", {"temperatures": 5, "k": 2})]
)
def test_samplers_leave_the_distribution_of_the_model_unchanged(rbm, name, options):
    table, chains = Enumerated.of(rbm), 60_013
    if name == "gibbs":
        state = {"hidden": table.hidden[drawn_from(table.joint.sum(axis=0), (1, chains), 2)].astype(np.float32)}
    else:
        state = {"visible": tempered_start(tempered_tables(rbm, 5), chains, np.float32)}
    samples, rbm = np.empty((1, chains, 4, M), np.uint8), rbm.astype(np.float32).replicas
    create(name, **options).draw(rbm, state, training_stream(1), samples)
    for number in range(4):
        assert holds(table.numbers_of(samples[0, :, number]), table.joint.sum(axis=1))


def tempered_tables(rbm, chains):
    return [Enumerated.of(rbm, beta) for beta in np.linspace(0, 1, chains)]


def tempered_start(tables, sets, dtype, seed=1):
    """Return sets of chains drawn from their tempered distributions: (1, sets, chains, m)."""
    states = [t.visible[drawn_from(t.joint.sum(axis=1), sets, (seed, k))] for k, t in enumerate(tables)]
    return np.stack(states, axis=1)[None].astype(dtype)


@MODELS
@STEPS
def test_tempered_sweeps_leave_all_tempered_distributions_unchanged(rbm, steps, dtype):
    tables, sets = tempered_tables(rbm, 5), 60_013
    visible = tempered_start(tables, sets, dtype)
    samples = np.empty((1, sets, steps, M), dtype)
    ParallelTemperingSampler(5).sweep(rbm.astype(dtype).replicas, visible, training_stream(1), samples)
    for k, table in enumerate(tables):
        assert holds(table.numbers_of(visible[0, :, k]), table.joint.sum(axis=1))
    for step in {0, steps - 1}:
        assert holds(tables[-1].numbers_of(samples[0, :, step]), tables[-1].joint.sum(axis=1))


@pytest.mark.parametrize("pair", [(0, 1), (1, 2), (3, 4)])
def test_tempered_sweeps_keep_neighbours_independent(pair):
    # The product distribution is invariant, not only its margins.
    rbm = two_mode_rbm(2, 2, coupling=4.0)
    tables, sets = tempered_tables(rbm, 5), 100_003
    visible = tempered_start(tables, sets, np.float32)
    samples = np.empty((1, sets, 3, 2), np.float32)
    ParallelTemperingSampler(5).sweep(rbm.astype(np.float32).replicas, visible, training_stream(1), samples)
    cold, hot = (tables[k].numbers_of(visible[0, :, k]) for k in pair)
    law = np.outer(*(tables[k].joint.sum(axis=1) for k in pair)).ravel()
    assert holds(cold * 4 + hot, law)


# Probabilities of acceptance of swaps of states x = (v, h), y = (v, h) at inverse temperatures beta_0 and beta_1.


def metropolis(tables, x, y):
    """Return the probabilities of the paper, from energies of joint states."""
    energy = tables[0].energy.ravel()
    return np.minimum(1, np.exp((tables[0].beta - tables[1].beta) * (energy[x] - energy[y])))


def sign_flipped(tables, x, y):
    """Return wrong probabilities, with the opposite sign."""
    return metropolis(tables, y, x)


def on_free_energy(tables, x, y):
    """Return wrong probabilities, from free energies of v in place of energies of joint states."""
    free = -np.logaddexp.reduce(-tables[1].energy, axis=1)[:, None] + 0 * tables[1].energy
    free = free.ravel()
    return np.minimum(1, np.exp((tables[0].beta - tables[1].beta) * (free[x] - free[y])))


@pytest.fixture(scope="module")
def two_by_two():
    return random_rbm(2, 2, scale=1.5, seed=3)


def sweep_law(tables, starts, rule):
    """Return the distribution of the visible states of all chains after a sweep, (visible states,) * chains."""
    n_v, n_h = tables[0].energy.shape
    laws = []
    for table, start in zip(tables, starts, strict=True):
        # h given the start, then v given h: the distribution of the joint state (v, h) before swaps.
        laws.append((table.hidden_given_visible[start][:, None] * table.visible_given_hidden).T.ravel())
    law = laws[0]
    for other in laws[1:]:
        law = np.multiply.outer(law, other)
    for first in (0, 1):
        for k in range(first, len(tables) - 1, 2):
            law = swapped(law, k, tables[k : k + 2], rule)
    visible_only = law.reshape((n_v, n_h) * len(tables))
    return visible_only.sum(axis=tuple(range(1, 2 * len(tables), 2)))


def swapped(law, k, tables, rule):
    """Return the distribution after a swap proposal of chains k and k + 1."""
    states = tables[0].energy.size
    accepted = rule(tables, *np.indices((states, states)))
    moved = np.moveaxis(law, (k, k + 1), (-2, -1))
    moved = moved * (1 - accepted) + np.swapaxes(moved * accepted, -2, -1)
    return np.moveaxis(moved, (-2, -1), (k, k + 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("chains", [2, 3])
def test_one_sweep_has_the_enumerated_distribution(two_by_two, chains, dtype):
    # All starts of two chains and some of three; the samples must disagree with both wrong rules.
    tables, sets = tempered_tables(two_by_two, chains), 20_011
    starts = list(itertools.product(range(4), repeat=chains))[:: 1 if chains == 2 else 11]
    rejected = {sign_flipped: 0, on_free_energy: 0}
    for number, start in enumerate(starts):
        visible = np.repeat(tables[0].visible[list(start)][None, None], sets, axis=1).astype(dtype)
        samples = np.empty((1, sets, 1, 2), dtype)
        stream = training_stream(1, seed=number)
        ParallelTemperingSampler(chains).sweep(two_by_two.astype(dtype).replicas, visible, stream, samples)
        numbers = tables[0].numbers_of(visible[0]) @ 4 ** np.arange(chains - 1, -1, -1)
        assert holds(numbers, sweep_law(tables, start, metropolis).ravel())
        np.testing.assert_array_equal(samples[0, :, 0], visible[0, :, -1])
        for rule in rejected:
            rejected[rule] += not holds(numbers, sweep_law(tables, start, rule).ravel())
    assert rejected[sign_flipped] > len(starts) / 2
    assert rejected[on_free_energy] > 0
