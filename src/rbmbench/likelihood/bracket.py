# SPDX-License-Identifier: BSD-3-Clause
"""log Z by annealing in both directions: a forward estimate, and an interval that holds both.

Particles are annealed from the base model to the RBM, once more with more temperatures in models where few of them
carry the weight, and in reverse from Gibbs chains that began at rows of data. The forward estimate tends to be too low:
by Markov's inequality it is more than log 40 above log Z in 2.5 of 100 cases at most. The reverse estimate tends to be
too high if the chains are near the RBM's distribution; if they have stayed in some modes, it is that of these modes.

Source: Burda, Grosse, Salakhutdinov 2015 (both directions).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from rbmbench.base.metrics import NORMAL, SURELY
from rbmbench.base.pace import Progress
from rbmbench.base.registry import positive_integer
from rbmbench.base.streams import Purpose, Stream
from rbmbench.likelihood.annealing import (
    AnnealedEstimate,
    ais_log_partition,
    base_rate_bias,
    inverse_temperatures,
    keys_of_models,
    reverse_ais_log_partition,
)
from rbmbench.likelihood.particles import Particles
from rbmbench.likelihood.tempered import Pause, State
from rbmbench.model.minibatches import random_rows
from rbmbench.model.rbm import RBM
from rbmbench.model.rows import binary_rows

FEW = 0.1
"""Share of the particles below which a model is annealed once more."""
STAGES = 3
"""Forward, once more, in reverse."""


@dataclass(frozen=True)
class BracketedEstimate(AnnealedEstimate):
    """An estimate of log Z by forward annealing, with the ends ``low`` and ``high`` of an interval, nats.

    The interval holds the forward and the reverse estimate, each with `NORMAL` standard errors, but no values that are
    more than `SURELY` below the forward one.
    """

    low: np.ndarray
    high: np.ndarray


def bracketed_log_partition(
    rbm: RBM,
    data: np.ndarray,
    particles: int = 100,
    temperatures: int | np.ndarray = 10_000,
    seed: int = 0,
    *,
    steps: int = 1000,
    repeat: int = 5,
    base: np.ndarray | None = None,
    keys: Sequence[int] | None = None,
    threads: int = 1,
    progress: Progress | None = None,
    begun: list[State] | None = None,
    pause: Pause | None = None,
) -> BracketedEstimate:
    """Estimate log Z by annealing from the base model, with an interval that includes annealing in reverse.

    Parameters
    ----------
    rbm : RBM
        Any leading axes; each model has its own particles.
    data : ndarray, shape (rows, m), entries 0 or 1
        The chains that are annealed in reverse begin at its rows, ideally the training set.
    particles, temperatures, seed
        See `ais_log_partition`; as many particles are annealed in reverse.
    steps : int
        Gibbs steps of the chains before they are annealed in reverse.
    repeat : int
        Steps of a second forward annealing, as a multiple of those of the first, in models where the effective sample
        size is below a tenth of the particles; 1 for none.
    base : ndarray, shape (m,), optional
        Visible bias b0 of the base model; by default `base_rate_bias` of the data.
    keys, threads, progress, begun, pause
        See `ais_log_partition`; the state is a list of mappings of names to arrays, one for each annealing begun.

    Raises
    ------
    SettingsError
        See `ais_log_partition`.
    DataError
        If the data are not rows of 0 and 1, as wide as the RBM.
    """
    steps, repeat = positive_integer("steps", steps, 0), positive_integer("repeat", repeat)
    data = binary_rows(data, units=rbm.visible_units)
    schedule, models, model_keys = inverse_temperatures(temperatures), rbm.replicas, keys_of_models(rbm, keys)
    shared = {"seed": seed, "base": base_rate_bias(data) if base is None else base, "threads": threads}
    states = begun or []
    done = [AnnealedEstimate(**state) for state in states[:-1]]

    def annealed(number: int, estimate: Callable[..., AnnealedEstimate], subset: RBM, subset_keys: np.ndarray) -> None:
        """Make one of the estimates, unless it is done."""
        if number < len(done):
            return
        resumed = _particles(states[-1]) if number == len(states) - 1 else None
        monitoring = {"progress": partial(_report, progress, number) if progress else None, "begun": resumed}
        monitoring["pause"] = partial(_pause, pause, done) if pause else None
        # Annealings of a model draw different numbers.
        done.append(estimate(subset, keys=subset_keys ^ (number << 30), **shared, **monitoring))

    annealed(0, partial(ais_log_partition, particles=particles, temperatures=schedule), models, model_keys)
    few = np.flatnonzero(done[0].effective_sample_size < (FEW * particles if repeat > 1 else 0)).tolist()
    if few:
        finer = np.interp(np.arange(repeat * (len(schedule) - 1) + 1) / repeat, np.arange(len(schedule)), schedule)
        annealed(1, partial(ais_log_partition, particles=particles, temperatures=finer), models[few], model_keys[few])
    elif len(done) == 1:
        done.append(AnnealedEstimate(*(np.empty(0),) * 3))
    rows = random_rows(data, particles, models.W, Stream(seed, model_keys, Purpose.SAMPLES))
    reverse = partial(reverse_ais_log_partition, visible=rows, temperatures=schedule, burn_in=steps)
    annealed(2, reverse, models, model_keys)
    forward = [np.array(values) for values in vars(done[0]).values()]
    for values, better in zip(forward, vars(done[1]).values(), strict=True):
        values[few] = better
    sides = [(value, NORMAL * error) for value, error, _ in (forward, vars(done[2]).values())]
    low = np.maximum(np.min([value - width for value, width in sides], axis=0), forward[0] - SURELY)
    high = np.max([value + width for value, width in sides], axis=0)
    return BracketedEstimate(*(values.reshape(rbm.W.shape[:-2]) for values in (*forward, low, high)))


def _report(progress: Progress, number: int, steps: int, all_steps: int) -> None:
    progress(number * all_steps + steps, STAGES * all_steps)


def _pause(pause: Pause, done: list[AnnealedEstimate], particles: Callable[[], Particles]) -> None:
    pause(lambda: [*map(vars, done), {name: np.asarray(array) for name, array in particles()._asdict().items()}])


def _particles(state: State) -> Particles:
    finished, visible, log_weights, steps, draw = (state[name] for name in Particles._fields)
    return Particles(finished, visible, log_weights, int(steps), int(draw))
