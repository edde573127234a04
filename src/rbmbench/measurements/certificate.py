# SPDX-License-Identifier: BSD-3-Clause
"""Quantities of the certificate of a trained model: log Z from both sides, and long chains beside the rows.

For each model of a run:

- **log Z** by annealed importance sampling, forward from independent units, which tends to be too low, and in reverse
  from long tempered chains, which tends to be too high; the interval holds both, each with `NORMAL` standard errors.
  Or, if the settings have ``tempering``, by tempered chains from two starts (`rbmbench.likelihood.tempered`).
- **Long chains**: sets of tempered chains, half of them from noise and half from training rows. Their moments are held
  against those of the rows (`rbmbench.measurements.distances`); their free energies against each other (R hat).
- **Short chains**: Gibbs chains from noise and from rows, at 1, 2, 4, ... steps. The moments of a model that was
  trained out of equilibrium come near to those of the rows, and leave them as the chains run on.
- **Energy**: if E is scaled by beta, the mean log-likelihood of the rows changes at beta = 1 by

      d L / d beta = E_model[E(v, h)] - E_rows[E(v, h)],    d2 L / d beta2 = mean Var(E | v) over rows - Var_model(E),

  so another temperature would gain about (dL)^2 / (2 |d2 L|), nats per row: little, unless the model was trained with
  chains at a wrong temperature.
- **Rates of units**: the divergence of the data from the model is at least that of the state of any one unit,

      KL(p_rows(v) || p_model(v)) >= KL(Bernoulli(E_rows x) || Bernoulli(E_model x)),   x = v_i or h_j,  h_j ~ p(h_j|v),

  so a mode without rows shows in a unit that is on there. It is bounded from below, with the rate of the chains
  moved towards that of the rows by 3 standard errors.
- **Nearest neighbours** of rows and long chains: adversarial accuracy, of training and of test rows.
- **Modes**: the mass of regions of states that rows are in and long chains are not, and the reverse
  (`rbmbench.measurements.modes`).

`rbmbench.measurements.verdicts` judges these.

Source: Burda, Grosse, Salakhutdinov 2015 (both sides of log Z); Decelle, Furtlehner, Seoane 2021 (out of equilibrium);
Yale et al. 2020 (nearest neighbours); Gelman, Rubin 1992 and Vehtari et al. 2021 (split R hat).
Shapes: one model at a time, with a leading axis of 1; long chains uint8 (chains, samples of a chain, m).
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import scipy  # scipy.special is imported at its first use
from threadpoolctl import threadpool_limits

from rbmbench.base.errors import DataError, SettingsError
from rbmbench.base.metrics import NORMAL
from rbmbench.base.pace import Progress
from rbmbench.base.settings import CertificateSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import kernels_for
from rbmbench.likelihood import (
    PackedData,
    ais_log_partition,
    base_rate_bias,
    data_statistics,
    exact_log_partition,
    inverse_temperatures,
    is_enumerable,
    reverse_ais_log_partition,
    tempered_log_partition,
)
from rbmbench.likelihood.annealing import independent_log_likelihood
from rbmbench.likelihood.exact import mean_log_weights, normalised
from rbmbench.measurements.distances import RowMoments, adversarial_accuracy, spread
from rbmbench.measurements.modes import CELLS, mass_of_modes
from rbmbench.model.gibbs import Buffers, sample_hidden, sample_visible
from rbmbench.model.minibatches import random_rows
from rbmbench.model.rbm import RBM
from rbmbench.model.rows import binary_rows
from rbmbench.samplers.parallel_tempering import ParallelTemperingSampler
from rbmbench.training.checkpoint import Checkpointer, identity

COLUMNS = ("trial", "quantity", "step", "value")
LEAST_RATE = 1e-6  # of a unit that is off, or on, in all samples
KEPT_OF_CHAIN = 16  # samples of each set of tempered chains, at equal distances in the second half of its sweeps
OFTEN = 4  # times KEPT_OF_CHAIN samples are compared with rows to find modes
CAUTION = 3.0  # standard errors for the extreme of all units
BLOCK = 5000  # rows whose energies are computed at a time

Quantities = dict[tuple[str, int], float]  # values by name and number of Gibbs steps, 0 if there are none


def certificate(
    rbm: RBM,
    data: np.ndarray,
    settings: CertificateSettings,
    test: np.ndarray | None = None,
    progress: Progress | None = None,
    checkpointer: Checkpointer | None = None,
) -> pd.DataFrame:
    """Return the quantities of a certificate, one model after the other.

    Parameters
    ----------
    rbm : RBM
        One leading axis of models.
    data : ndarray, shape (rows, m), entries 0 or 1
        The training rows, which must not all be alike.
    settings : CertificateSettings
    test : ndarray, shape (rows, m), optional
        Rows that were not trained on; fewer than 2 are ignored.
    progress : callable, optional
        Called as progress(models done, models).
    checkpointer : Checkpointer, optional
        Saves the quantities after each model.

    Returns
    -------
    DataFrame
        Tidy: trial (index of the model), quantity, step, value. Nats: ``log_partition_low`` and ``_high``; ``forward_``
        and ``reverse_log_partition`` with ``forward_error`` and ``reverse_error``, or the same with ``tempered_``, with
        ``tempered_converged``, 0 or 1, and ``tempered_round_trips``; ``exact_log_partition`` (where a layer can be
        enumerated), ``log_likelihood_low`` and ``_high`` (mean over the training rows), ``independent_log_likelihood``
        (of independent units), ``temperature_gain`` and ``temperature_gain_low``, ``rate_divergence_low`` (of the unit
        where it is largest). Shares of the particles: ``forward_share`` and ``reverse_share`` (effective sample sizes).
        Relative distances of moments, each with one named ``_error``: ``distance``, ``from_noise`` and ``from_rows``
        (by step). R hat: ``r_hat``. Adversarial accuracies: ``accuracy``, ``test_accuracy``. Masses: see
        `rbmbench.measurements.modes.mass_of_modes`.

    Raises
    ------
    DataError
        If data or test rows are not rows of 0 and 1, as wide as the models, or there are fewer than two rows of data.
    SettingsError
        If there are fewer models than requested.
    """
    data = binary_rows(data, "training data", rbm.visible_units)[:]  # sparse rows become dense
    if len(data) < 2:
        raise DataError(f"training data: must be at least 2 rows, got {len(data)}")
    test = data[:0] if test is None else binary_rows(test, "test data", rbm.visible_units, may_be_empty=True)[:]
    test = None if len(test) < 2 else test
    first, models = settings.first_model, settings.examined(len(rbm.W))
    if not 0 < models <= len(rbm.W) - first:
        last = first + max(models, 1)
        raise SettingsError(f"first_model + models: must be at most {len(rbm.W)}, the run's trials, got {last}")
    checkpointer = checkpointer or Checkpointer()
    arrays = rbm.parameters._asdict() | {"train": data}
    saved = checkpointer.resume(identity(settings, arrays | ({} if test is None else {"test": test})))
    rows: list[list] = saved["rows"] if saved else []
    examined = _Rows(data, test, settings)
    with threadpool_limits(1):
        for trial in checkpointer.pieces(range(first, first + models), lambda: {"rows": rows}):
            quantities = examined.quantities(rbm[trial : trial + 1], trial)
            rows.extend([trial, name, step, float(value)] for (name, step), value in quantities.items())
            if progress:
                progress(trial - first + 1, models)
    return pd.DataFrame(rows, columns=list(COLUMNS))


class _Rows:
    def __init__(self, data: np.ndarray, test: np.ndarray | None, settings: CertificateSettings):
        self._data, self._test, self._settings = data, test, settings
        self._packed: PackedData | None = None
        self._moments, self._bias = RowMoments(data), base_rate_bias(data)
        self._independent = independent_log_likelihood(data, self._bias)
        self._few = {"accuracy": spread(data, settings.rows)}
        if test is not None:
            self._few["test_accuracy"] = spread(test, settings.rows)

    def quantities(self, rbm: RBM, trial: int) -> Quantities:
        """Return all quantities of one model, (1, m, n)."""
        stream = Stream(self._settings.seed, [trial], Purpose.CERTIFICATE)
        often = self._tempered(rbm, stream)
        samples = often[:, OFTEN - 1 :: OFTEN]
        quantities = self._log_partition(rbm, samples, trial) | self._temperature(rbm, samples)
        quantities |= self._rates(rbm, samples)
        quantities |= _named("distance", self._moments.distance(samples))
        quantities |= {("r_hat", 0): r_hat(rbm.astype(np.float64)[0].free_energy(samples))}
        for steps, walked in self._walks(rbm, stream):
            for name, states in walked.items():
                quantities |= _named(name, self._moments.distance(states[:, None]), steps)
        uniforms = kernels_for(rbm.W).uniforms(stream.next(), CELLS, np.float64)[0]
        masses = mass_of_modes(rbm, often, self._data, self._test, uniforms)
        quantities |= {(name, 0): value for name, value in masses.items()}
        drawn = spread(samples.reshape(-1, samples.shape[-1]), self._settings.rows)
        return quantities | {(name, 0): adversarial_accuracy(rows, drawn) for name, rows in self._few.items()}

    def _tempered(self, rbm: RBM, stream: Stream) -> np.ndarray:
        """Return samples of sets of tempered chains, half of the sets from noise, half from rows."""
        settings, m, noisy = self._settings, rbm.visible_units, self._settings.chains // 2
        noise = _noise(rbm, noisy * settings.ladder, stream)
        rows = random_rows(self._data, (settings.chains - noisy) * settings.ladder, rbm.W, stream)
        visible = np.concatenate([noise, rows], axis=1).reshape(1, settings.chains, settings.ladder, m)
        sampler, parts = ParallelTemperingSampler(settings.ladder), []
        length = settings.sweeps // (2 * KEPT_OF_CHAIN)
        kept = np.arange(1, OFTEN + 1) * length // OFTEN - 1
        for _ in range(2 * KEPT_OF_CHAIN):
            visited = np.empty((1, settings.chains, length, m), rbm.W.dtype, like=rbm.W)
            sampler.sweep(rbm, visible, stream, visited)
            parts.append(visited[0][:, kept].astype(np.uint8))
        return np.concatenate(parts[KEPT_OF_CHAIN:], axis=1)

    def _log_partition(self, rbm: RBM, samples: np.ndarray, trial: int) -> Quantities:
        """Return log Z and the log-likelihood of the rows from both sides."""
        base = self._bias if self._settings.base == "base_rate" else np.zeros(rbm.visible_units)
        if self._settings.tempering:
            low, high, quantities = self._tempered_log_partition(rbm, trial, base)
        else:
            low, high, quantities = self._annealed_log_partition(rbm, samples, trial, base)
        self._packed = self._packed or PackedData(self._data, rbm.W.astype(np.float64))
        score = mean_log_weights(rbm, self._packed)[0]
        quantities |= {("log_partition_low", 0): low, ("log_partition_high", 0): high}
        likelihoods = normalised(score, np.array([high, low]))
        ends = zip(("low", "high"), likelihoods, strict=True)
        quantities |= {(f"log_likelihood_{end}", 0): value for end, value in ends}
        quantities["independent_log_likelihood", 0] = self._independent
        if is_enumerable(rbm.visible_units, rbm.hidden_units):
            quantities["exact_log_partition", 0] = exact_log_partition(rbm)[0]
        return quantities

    def _tempered_log_partition(self, rbm: RBM, trial: int, base: np.ndarray) -> tuple[float, float, Quantities]:
        """Return both ends of the interval of log Z by tempered chains, and the quantities behind it."""
        tempering, seed = self._settings.tempering, self._settings.seed
        budget = tempering.target_error, tempering.products, seed
        estimate = tempered_log_partition(rbm, self._data, *budget, base=base, keys=[trial])
        names = {"log_partition": estimate.log_partition, "error": estimate.standard_error}
        names |= {name: getattr(estimate, name) for name in ("round_trips", "converged")}
        width = NORMAL * estimate.standard_error[0]
        ends = estimate.log_partition[0] - width, estimate.log_partition[0] + width
        return *ends, {(f"tempered_{name}", 0): float(value[0]) for name, value in names.items()}

    def _annealed_log_partition(
        self, rbm: RBM, samples: np.ndarray, trial: int, base: np.ndarray
    ) -> tuple[float, float, Quantities]:
        """Return both ends of the interval of log Z by annealing from both sides, and the quantities behind it."""
        settings, quantities = self._settings, {}
        schedule = inverse_temperatures(settings.temperatures, settings.spacing)
        budget = {"temperatures": schedule, "seed": settings.seed, "base": base}
        drawn = spread(samples.reshape(-1, samples.shape[-1]), settings.particles)[None]
        sides = {
            "forward": ais_log_partition(rbm, settings.particles, keys=[2 * trial], **budget),
            "reverse": reverse_ais_log_partition(rbm, drawn, keys=[2 * trial + 1], **budget),
        }
        for (name, side), count in zip(sides.items(), (settings.particles, drawn.shape[1]), strict=True):
            values = side.log_partition, side.standard_error, side.effective_sample_size / count
            names = ("log_partition", "error", "share")
            quantities |= {(f"{name}_{quantity}", 0): value[0] for quantity, value in zip(names, values, strict=True)}
        ends = [(side.log_partition[0], NORMAL * side.standard_error[0]) for side in sides.values()]
        return min(value - width for value, width in ends), max(value + width for value, width in ends), quantities

    def _temperature(self, rbm: RBM, samples: np.ndarray) -> Quantities:
        row_energies, row_variances = _energies(rbm, self._data)
        chain_energies, chain_variances = _energies(rbm, samples)
        gap = chain_energies.mean() - row_energies.mean()
        error = chain_energies.mean(axis=1).std(ddof=1) / np.sqrt(len(chain_energies))
        curvature = chain_energies.var() + chain_variances.mean() - row_variances.mean()
        # If the likelihood is not concave in the temperature, only the variance of the model limits the gain.
        scale = 2 * (curvature if curvature > 0 else chain_energies.var() + chain_variances.mean())
        least = max(0.0, abs(gap) - NORMAL * error)
        # Without a gap there is no gain, also if all states have the same energy and the scale is 0.
        with np.errstate(divide="ignore"):
            gain, low = (difference**2 / scale if difference else 0.0 for difference in (gap, least))
        return {("temperature_gain", 0): gain, ("temperature_gain_low", 0): low}

    def _rates(self, rbm: RBM, samples: np.ndarray) -> Quantities:
        """Return the largest of the least divergences that the rates of single units imply."""
        statistics = data_statistics(rbm, self._packed)
        row_rates = np.concatenate([statistics.b[0], statistics.c[0]])
        means = rbm.astype(np.float64)[0].hidden_mean(samples)
        by_chain = np.concatenate([samples, means], axis=-1).mean(axis=1)
        errors = CAUTION * by_chain.std(axis=0, ddof=1) / np.sqrt(len(by_chain))
        model_rates = by_chain.mean(axis=0)
        nearest = np.clip(row_rates, model_rates - errors, model_rates + errors)
        pairs = (row_rates, nearest), (1 - row_rates, 1 - nearest)
        divergence = sum(scipy.special.rel_entr(p, np.maximum(q, LEAST_RATE)) for p, q in pairs)
        return {("rate_divergence_low", 0): divergence.max()}

    def _walks(self, rbm: RBM, stream: Stream) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
        """Yield powers of 2 up to the number of steps, and the states (walkers, m) of the Gibbs chains then."""
        count, buffers, done = self._settings.walkers, Buffers(), 0
        starts = _noise(rbm, count, stream), random_rows(self._data, count, rbm.W, stream)
        visible = np.concatenate(starts, axis=1)
        for steps in 2 ** np.arange(int(self._settings.steps).bit_length()):
            for _ in range(steps - done):
                visible = sample_visible(rbm, sample_hidden(rbm, visible, stream, buffers), stream, buffers)
            done, states = steps, visible[0].astype(np.uint8)
            yield int(steps), {"from_noise": states[:count], "from_rows": states[count:]}


def r_hat(values: np.ndarray) -> float:
    """Return the split R hat of values (chains, samples of a chain): towards 1 as chains forget their starts."""
    half = values.shape[1] // 2
    parts = np.concatenate([values[:, :half], values[:, half : 2 * half]])
    within, between = parts.var(axis=1, ddof=1).mean(), parts.mean(axis=1).var(ddof=1)
    return float(np.sqrt((half - 1) / half + between / within)) if within > 0 else 1.0


def _named(name: str, distance: tuple[float, float], step: int = 0) -> Quantities:
    value, error = distance
    return {(name, step): value, (f"{name}_error", step): error}


def _noise(rbm: RBM, count: int, stream: Stream) -> np.ndarray:
    m = rbm.visible_units
    uniforms = kernels_for(rbm.W).uniforms(stream.next(), count * m, rbm.W.dtype)
    return (uniforms < 0.5).astype(rbm.W.dtype).reshape(1, count, m)


def _energies(rbm: RBM, visible: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    flat, parts = visible.reshape(-1, visible.shape[-1]), []
    for start in range(0, len(flat), BLOCK):
        block = flat[start : start + BLOCK]
        activation = (block.astype(rbm.W.dtype) @ rbm.W[0] + rbm.c[0]).astype(np.float64)
        on = 0.5 + 0.5 * np.tanh(activation / 2)
        mean = -(block @ rbm.b[0].astype(np.float64)) - (activation * on).sum(axis=-1)
        parts.append((mean, (activation**2 * on * (1 - on)).sum(axis=-1)))
    return tuple(np.concatenate(blocks).reshape(visible.shape[:-1]) for blocks in zip(*parts, strict=True))
