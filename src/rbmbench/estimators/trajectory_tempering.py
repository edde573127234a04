# SPDX-License-Identifier: BSD-3-Clause
"""Parallel trajectory tempering (PTT-k): PCD whose chains exchange states with samples of an earlier model of the run.

    E_model f  is estimated by  (1/N) sum_i f(v_i),   f(v) = (v p(h|v)', v, p(h|v)),

where v_i are the states of N persistent chains. The last *checkpoint* is a frozen copy of the model, with a *reservoir*
of its equilibrium samples, ten times as many as chains. In each iteration every chain x is paired with another random
member y of the reservoir, they are exchanged with probability

    min(1, exp(F(x) + F'(y) - F(y) - F'(x))),

F and F' the free energies of the model and of the checkpoint, and k Gibbs steps of the chains follow. When the
acceptance, smoothed over about ten iterations, falls below a threshold, the model becomes the next checkpoint:

1. Chains start at members of the reservoir, drawn with the weights exp(F'(y) - F(y)). If the weights predict an
   acceptance below 0.1, a model halfway to the last checkpoint is frozen before (in parameters; or a quarter, ...).
2. They make such rounds of exchanges and Gibbs steps with the last reservoir, for 20 autocorrelation times of F' - F.
3. Then they are added to the new reservoir every two autocorrelation times, until it is full. log Z of the checkpoint
   follows from these rounds by the Bennett acceptance ratio.

The first checkpoint is a model with W = 0, sampled exactly, with the rates of one-step reconstructions of training
rows: nearly the rates of the model if it is new, nearly those of the data if it is trained. From there to a W with a
largest singular value s, checkpoints are at most 2 / s of the way apart. Modes of a trained model that none of them
shows are not found; this does not concern runs that begin with small weights.

Unlike in the source, no iteration is refused, because an estimator can neither restore the model of the checkpoint nor
halve the learning rate. Models between the checkpoint and the model are used instead (step 1).

Source: Béreux, Decelle, Furtlehner, Seoane 2026 (arXiv:2607.27077).
Shapes: state "visible" (replicas, N, m), "reservoir" (replicas, 10 N, m), uint8, its free energies under the checkpoint
"reservoir_energy" (replicas, 10 N), "frozen_W" (replicas, m, n), "frozen_b" (replicas, m), "frozen_c" (replicas, n),
and (replicas,) "log_partition" of the checkpoint, "acceptance" and "checkpoints".
"""

import math

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import number_within, positive_integer
from rbmbench.base.streams import Stream
from rbmbench.estimators._base import NOTHING, REGISTRY, Estimator
from rbmbench.estimators._chains import number_of_chains
from rbmbench.kernels import kernels_for, on_host
from rbmbench.likelihood.trajectories import bennett_ratio
from rbmbench.model.gibbs import Buffers, Population, hidden_mean, sample_hidden, sample_visible, visible_mean
from rbmbench.model.minibatches import random_rows
from rbmbench.model.rbm import RBM, unchecked_rbm
from rbmbench.model.trajectories import between, free_energies, independent_log_partition, independent_model
from rbmbench.model.work import product
from rbmbench.samplers.trajectory_tempering import exchanges, expected_acceptance, resampled

SMOOTHING = 0.1  # weight of an iteration in the acceptance
LEAST_ACCEPTANCE = 0.1  # expected of a new checkpoint
LARGEST_STEP = 2.0  # in the largest singular value of W, between the first checkpoints
SMALLEST_SHARE = 2.0**-10  # of the way to the model that the next checkpoint lies at
MOST_CHECKPOINTS = 100  # in an iteration
THERMALISING, MOST_ROUNDS = 20, 1280  # autocorrelation times, and their limit in rounds
ASSUMED_FILLING = 0.1  # rounds that fill reservoirs, per iteration; "row_products" has the number
FROZEN = ("frozen_W", "frozen_b", "frozen_c")


@REGISTRY.register
class TrajectoryTempering(Estimator):
    """PTT-k with ``k`` Gibbs steps per round and ``chains`` chains (None: one per row of the mini-batch).

    ``members`` is the number of members of the reservoir per chain, ``threshold`` the acceptance of exchanges, between
    0 and 1, below which a checkpoint is frozen.

    Diagnostics: "swap_acceptance"; "checkpoints", the number frozen so far; "row_products", the number of products of
    a row of one layer with W in this negative phase, new reservoirs included and its statistics not. Those of an
    iteration without a new checkpoint are (2 k + 3) N, those of PCD-k (2 k + 1) N.
    """

    continues_from = "itself"
    cost_varies = True
    cost_depends_on = ("row_products",)

    def __init__(self, k: int = 1, chains: int | None = None, members: int = 10, threshold: float = 0.3):
        super().__init__()
        self.k, self.members = positive_integer("k", k), positive_integer("members", members)
        self.chains = number_of_chains(chains)
        self.threshold = number_within("threshold", threshold, 1)
        if not 0 < self.threshold < 1:
            raise SettingsError(f"option 'threshold': must be a number above 0 and below 1, got {threshold!r}")
        self._single = Buffers()  # of calls for a single replica

    def products(self, batch, visible_units, hidden_units, diagnostics=NOTHING):
        """Return the products of the chains, exchanges and reservoirs, and of both phases.

        Without ``diagnostics`` no reservoir is filled, which is the least that an estimate costs.
        """
        chains = self.chains or batch
        return 2 + (diagnostics.get("row_products", (2 * self.k + 3) * chains) + chains) / batch

    def assumed(self, batch):
        """Return the products with an assumed share of rounds that fill reservoirs."""
        rounds = 2 * self.k + 3 + ASSUMED_FILLING * (2 * self.k + 2)
        return {"row_products": rounds * (self.chains or batch)}

    def cost(self, batch, visible_units, hidden_units, diagnostics=NOTHING):
        m, n, chains = visible_units, hidden_units, self.chains or batch
        counts = super().cost(batch, m, n)
        counts[product(m, n, chains)] += 2 * m * n * (3 + ASSUMED_FILLING * (2 * self.k + 2)) * chains
        counts["row"] += (2 + ASSUMED_FILLING) * chains
        counts["unit"] += (2 + ASSUMED_FILLING) * chains * (m + n)
        return counts

    def start(self, rbm, data, batch, stream):
        """Fill the reservoir of the first checkpoint, with W = 0, by exact samples."""
        chains = self.chains or batch
        rows = random_rows(data, chains, rbm.W, stream)
        rates = visible_mean(rbm, hidden_mean(rbm, rows, self.buffers), self.buffers).mean(axis=1)
        least = 0.5 / chains
        rates = np.clip(rates, least, 1 - least)
        first = independent_model(rbm, np.log(rates / (1 - rates)))
        members = np.zeros((len(rbm.W), chains * self.members, rbm.visible_units), rbm.W.dtype, like=rbm.W)
        kernels_for(members).sample_bernoulli(members, first.b, stream.next())
        zeros = np.zeros(len(rbm.W), np.float64, like=rbm.W)
        return dict(zip(FROZEN, first.parameters, strict=True)) | {
            "visible": members[:, :chains].copy(),
            "reservoir": members.astype(np.uint8),
            "reservoir_energy": free_energies(first, members, self.buffers),
            "log_partition": independent_log_partition(first),
            "acceptance": zeros,  # so that the model is the next checkpoint
            "checkpoints": zeros.copy(),
        }

    def negative_phase(self, rbm, positive, state, stream):
        """Freeze checkpoints where they are due, exchange, and run the persistent chains for k steps."""
        replicas, chains, _ = state["visible"].shape
        branch, products = stream.branch(), np.full(replicas, (2.0 * self.k + 3) * chains)
        remaining = np.full(replicas, np.inf) if self.left is None else self.left * positive.visible.shape[1]
        for r in np.flatnonzero(on_host(state["acceptance"]) < self.threshold):
            replica = slice(r, r + 1)
            replica_stream = Stream(int(branch.seed), branch.trials[replica], int(branch.purpose), branch.number)
            views = {name: array[replica] for name, array in state.items()}
            products[r] += self._freeze(rbm[replica], views, replica_stream, remaining[r])
        chain_differences, member_differences = self._round(rbm, state, stream, self.buffers)
        accepted = np.exp(np.minimum(member_differences - chain_differences, 0)).mean(axis=1)
        state["acceptance"] += SMOOTHING * (accepted - state["acceptance"])
        diagnostics = {
            "swap_acceptance": accepted,
            "checkpoints": state["checkpoints"].copy(),
            "row_products": np.asarray(products, like=rbm.W),
        }
        visible = state["visible"]
        return Population(visible, hidden_mean(rbm, visible, self.buffers)), state, diagnostics

    def _round(self, rbm: RBM, state: dict, stream: Stream, buffers: Buffers) -> tuple:
        """Exchange chains with members of the reservoir, and make k Gibbs steps; 1 + 2 k draws are taken.

        Returns F'(v) - F(v) of the chains and of the members before the exchange, float64 (replicas, N) each.
        """
        x, kernels = state["visible"], kernels_for(state["visible"])
        chains, m = x.shape[1:]
        uniforms = kernels.uniforms(stream.next(), 2 * chains + 1, np.float64)
        partners = self._partners(uniforms[:, chains:])
        members, energies = state["reservoir"].reshape(-1, m), state["reservoir_energy"].reshape(-1)
        y = buffers.get("members", x.shape, x)
        kernels.gather_rows(members, partners, y)
        hidden = _activation(rbm, x, buffers, "of chains")
        hidden_y = _activation(rbm, y, buffers, "of members")
        energy_x = free_energies(unchecked_rbm(*(state[name] for name in FROZEN)), x, buffers)
        difference_x = energy_x - free_energies(rbm, x, buffers, hidden)
        difference_y = energies[partners] - free_energies(rbm, y, buffers, hidden_y)
        accepted = exchanges(difference_y - difference_x, uniforms[:, :chains])
        # The Gibbs step needs only the activations of the hidden units of a state.
        np.copyto(hidden, hidden_y, where=accepted[..., None])
        members[partners[accepted]] = x[accepted].astype(np.uint8)
        energies[partners[accepted]] = energy_x[accepted]
        kernels.sample_bernoulli(hidden, rbm.c, stream.next())
        visible = sample_visible(rbm, hidden, stream, buffers)
        for _ in range(self.k - 1):
            visible = sample_visible(rbm, sample_hidden(rbm, visible, stream, buffers), stream, buffers)
        x[...] = visible
        return difference_x, difference_y

    def _partners(self, uniforms):
        """Return different members of the flat reservoirs, int64 (replicas, N), from uniforms (replicas, N + 1).

        The members are divided into as many groups as there are chains, and the groups are dealt out from a random one
        on. The partner of a chain does not depend on any state.
        """
        replicas, chains = len(uniforms), uniforms.shape[1] - 1
        within = np.minimum((uniforms[:, :-1] * self.members).astype(np.int64), self.members - 1)
        first = (uniforms[:, -1:] * chains).astype(np.int64)
        group = (first + np.arange(chains, like=first)) % chains
        size = chains * self.members
        return group * self.members + within + size * np.arange(replicas, like=first)[:, None]

    def _freeze(self, rbm: RBM, state: dict, stream: Stream, remaining: float) -> float:
        """Make the model of a single replica the next checkpoint, by intermediate ones if need be.

        The state is changed in place. Returns the number of rows that were multiplied with W; once they are more than
        ``remaining`` the last checkpoint stays.
        """
        members, products = state["reservoir"].shape[1], 0.0
        steps = _first_steps(rbm) if state["checkpoints"][0] == 0 else 1
        for number in range(MOST_CHECKPOINTS):
            share, last = 1.0 / max(1, steps - number), unchecked_rbm(*(state[name].copy() for name in FROZEN))
            rows = state["reservoir"].astype(rbm.W.dtype)
            while True:
                model = between(last, rbm, share)
                log_weights = on_host(state["reservoir_energy"] - free_energies(model, rows, self._single))[0]
                products += members
                if not np.isfinite(log_weights).all():
                    return products  # the run is about to end with an error
                if share <= SMALLEST_SHARE or expected_acceptance(log_weights) >= LEAST_ACCEPTANCE:
                    break
                share /= 2
            uniforms = on_host(kernels_for(rows).uniforms(stream.next(), members // self.members, np.float64))[0]
            state["visible"][...] = rows[:, resampled(log_weights, uniforms)]
            products += self._fill(model, state, stream, remaining - products)
            if share == 1 or products > remaining:
                break
        return products

    def _fill(self, model: RBM, state: dict, stream: Stream, remaining: float) -> float:
        """Make a model of a single replica the next checkpoint: see steps 2 and 3 above."""
        chains, values = state["visible"].shape[1], []
        round_products = (2 * self.k + 2) * chains

        def rounds(number: int) -> None:
            for _ in range(number):
                values.append([on_host(energies)[0] for energies in self._round(model, state, stream, self._single)])

        rounds(THERMALISING)
        most = min(MOST_ROUNDS, remaining / round_products)
        while len(values) < min(most, THERMALISING * _autocorrelation_time(np.array(values)[:, 0])):
            rounds(len(values))
        thermalised = len(values)
        spacing = math.ceil(2 * _autocorrelation_time(np.array(values)[:, 0]))
        rows = np.empty(state["reservoir"].shape, model.W.dtype, like=model.W)
        for number in range(self.members):
            if len(values) * round_products > remaining:
                return float(len(values) * round_products)
            rounds(spacing)
            rows[:, number :: self.members] = state["visible"]
        chain_differences, member_differences = np.moveaxis(np.array(values[thermalised:]), 1, 0)
        for name, parameter in zip(FROZEN, model.parameters, strict=True):
            state[name][...] = parameter
        state["reservoir"][...] = rows.astype(np.uint8)
        state["reservoir_energy"][...] = free_energies(model, rows, self._single)
        state["log_partition"] += bennett_ratio(member_differences, chain_differences)
        state["checkpoints"] += 1
        state["acceptance"][...] = 1
        return float(len(values) * round_products + rows.shape[1])


def _first_steps(rbm: RBM) -> int:
    """Return the number of steps from W = 0 to the W of a single replica.

    Modes that appear in a step are not noticed by exchanges. Up to a largest singular value of 4, the mean-field
    equations have a single solution.
    """
    W = on_host(rbm.W[0])
    if not np.isfinite(W).all():
        return 1
    return min(MOST_CHECKPOINTS, max(1, math.ceil(np.linalg.norm(W, 2) / LARGEST_STEP)))


def _activation(rbm: RBM, visible, buffers: Buffers, name: str):
    """Return v W without the bias, (replicas, rows, n), in its own buffer."""
    out = buffers.get(name, (*visible.shape[:-1], rbm.hidden_units), rbm.W)
    kernels_for(out).multiply_binary(visible, rbm.W, out)
    return out


def _autocorrelation_time(series: np.ndarray) -> float:
    """Return the integrated autocorrelation time 1/2 + sum_t rho(t), at least 1/2, of series (rounds, chains).

    The sum ends at a lag of five times the result (Sokal), at the latest at half of the rounds.
    """
    centered = series - series.mean()
    variance, time = (centered**2).mean(), 0.5
    if not variance > 0:
        return time
    for lag in range(1, len(series) // 2):
        time += (centered[lag:] * centered[:-lag]).mean() / variance
        if lag >= 5 * time:
            break
    return max(time, 0.5)
