# SPDX-License-Identifier: BSD-3-Clause
"""Trajectory tempering in training: distributions of chains and reservoirs, log Z, and weights of modes."""

import numpy as np
import pytest
from core_helpers import Enumerated, holds, random_rbm, repeated, training_stream, two_mode_rbm
from scipy.stats import norm

from rbmbench import estimators
from rbmbench.datasets.artificial_modes import prototypes
from rbmbench.kernels.numpy import binary_states
from rbmbench.model.enumeration import visible_distribution
from rbmbench.model.rbm import RBM
from rbmbench.model.trajectories import between, independent_model
from rbmbench.training.trainer import train

ERROR_RATE = 1e-5  # of every single comparison in this file
NAME = "trajectory_tempering"
M, N = 5, 3


def checkpoint_at_equilibrium(rbm, frozen, chains, members, dtype):
    """Return a state whose chains and members are independent samples of their models."""
    rng, states = np.random.default_rng(7), []
    for model, count in ((rbm, chains), (frozen, chains * members)):
        table = Enumerated.of(model)
        law = table.joint.sum(axis=1)
        states.append(table.visible[rng.choice(len(law), count, p=law)][None])
    parameters = {
        f"frozen_{name}": part[None].astype(dtype) for name, part in zip("Wbc", frozen.parameters, strict=True)
    }
    return parameters | {
        "visible": states[0].astype(dtype),
        "reservoir": states[1].astype(np.uint8),
        "reservoir_energy": frozen.free_energy(states[1][0])[None],
        "log_partition": np.zeros(1),
        "acceptance": np.ones(1),
        "checkpoints": np.zeros(1),
    }


@pytest.mark.parametrize(("k", "calls", "dtype"), [(1, 1, np.float32), (2, 1, np.float64), (1, 5, np.float32)])
def test_rounds_leave_both_distributions_unchanged(k, calls, dtype):
    rbm, members = two_mode_rbm(M, N, coupling=12.0), 3
    frozen = between(independent_model(rbm, 0 * rbm.b), rbm, 0.7)
    state = checkpoint_at_equilibrium(rbm, frozen, 60_013, members, dtype)
    before = state["reservoir"].copy()
    estimator, stream = estimators.create(NAME, k=k, members=members), training_stream(1)
    model, batch = rbm.astype(dtype).replicas, np.zeros((1, 60_013, M), dtype)
    for _ in range(calls):
        population = estimator.estimate(model, batch, state, stream).negative
    exchanged = (before != state["reservoir"]).any(axis=-1).mean()
    assert exchanged > 0.02
    for states, model_of_states in ((population.visible, rbm), (state["reservoir"], frozen)):
        table = Enumerated.of(model_of_states)
        law = table.joint.sum(axis=1)
        assert holds(table.numbers_of(states), law)
    # Power: the distributions of the two models differ.
    other = Enumerated.of(frozen).joint.sum(axis=1)
    assert np.abs(other - Enumerated.of(rbm).joint.sum(axis=1)).sum() / 2 > 0.05
    np.testing.assert_allclose(state["reservoir_energy"][0], frozen.free_energy(state["reservoir"][0]), atol=1e-5)


def two_modes(table, ones, zeros):
    """Return rows of two modes whose weights are nearly equal in the model."""
    return np.concatenate([table.visible[[-1] * ones], table.visible[[0] * zeros]]).astype(np.uint8)


@pytest.mark.parametrize("rbm", [random_rbm(M, N, scale=1.5, seed=31), two_mode_rbm(M, N, coupling=12.0)])
def test_reservoirs_have_the_distribution_of_checkpoints_and_log_z(rbm):
    # Replicas are independent; members of one are not, as their chains continue and exchange states.
    replicas, chains, table = 30, 23, Enumerated.of(rbm)
    estimator, stream = estimators.create(NAME, chains=chains), training_stream(replicas, seed=3)
    # Independent units with the rates of such rows have both modes.
    data = two_modes(table, 6, 5)
    rbms = repeated(rbm, replicas)
    state = estimator.start(rbms, data, chains, stream)
    estimate = estimator.estimate(rbms, np.zeros((replicas, chains, M)), state, stream)
    assert (estimate.diagnostics["checkpoints"] >= 1).all()
    means = table.f[table.numbers_of(state["reservoir"])].mean(axis=1)
    z = (means.mean(axis=0) - table.expectation) / (means.std(axis=0, ddof=1) / np.sqrt(replicas))
    assert np.abs(z).max() < norm.isf(ERROR_RATE / 2 / len(z))
    errors = state["log_partition"] - table.log_partition
    assert errors.std() < 0.4
    assert abs(errors.mean()) < norm.isf(ERROR_RATE / 2) * errors.std(ddof=1) / np.sqrt(replicas) + 0.5 * errors.var()


def test_chains_leave_modes_in_which_those_of_pcd_stay():
    rbm, chains = two_mode_rbm(M, N, coupling=20.0), 307
    table = Enumerated.of(rbm)
    data = two_modes(table, 8, 3)
    mode = table.visible.mean(axis=1) > 0.5
    weight, shares = table.joint.sum(axis=1) @ mode, {}
    for name in ("pcd", NAME):
        estimator, stream = estimators.create(name, chains=chains), training_stream(1)
        state = estimator.start(rbm.replicas, data, chains, stream)
        for _ in range(40):
            estimate = estimator.estimate(rbm.replicas, np.ones((1, 1, M)), state, stream)
        shares[name] = (estimate.negative.visible[0].mean(axis=-1) > 0.5).mean()
    assert weight < 0.6
    assert shares["pcd"] > 0.65
    # Chains are correlated: as if a tenth of them were independent.
    assert abs(shares[NAME] - weight) < norm.isf(ERROR_RATE / 2) * np.sqrt(weight * (1 - weight) / (chains / 10))


def test_training_keeps_weights_of_modes_that_pcd_does_not():
    # Four artificial modes of unequal weights: total variations of 0.02 to 0.1 were measured, 0.2 to 0.6 of PCD.
    copies = np.repeat(prototypes(16, 4), (1100, 500, 300, 100), axis=0)
    rows = copies ^ (np.random.default_rng(0).random(copies.shape) < 0.01).astype(np.uint8)
    nearest = np.abs(binary_states(16)[:, None] - prototypes(16, 4)).sum(axis=-1).argmin(axis=-1)
    row_weights = np.bincount(nearest[rows.astype(int) @ (1 << np.arange(15, -1, -1))], minlength=4) / len(rows)
    run = {"hidden": 16, "batch": 100, "iterations": 4000, "rate": 0.1, "trials": 3, "evaluate_every": 4000}
    distances, likelihood = {}, {}
    for name, options in (("pcd", {"k": 2}), (NAME, {"k": 1})):
        result = train(rows, estimator=name, options=options, seed=4, **run)
        weights = visible_distribution(RBM(*result.rbm.parameters))
        model_weights = np.stack([weights[:, nearest == mode].sum(axis=-1) for mode in range(4)], axis=-1)
        distances[name] = np.abs(model_weights - row_weights).sum(axis=-1) / 2
        last = result.curve[result.curve.iteration == 4000]
        likelihood[name] = last[last.metric == "log_likelihood"].value.to_numpy()
    assert distances[NAME].max() < 0.15
    assert distances["pcd"].min() > distances[NAME].max()
    assert likelihood[NAME].min() > likelihood["pcd"].max()
