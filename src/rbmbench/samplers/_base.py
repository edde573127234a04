"""What the samplers found by name share: how a stream of samples is started and drawn."""

from typing import Any

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import Registry
from rbmbench.base.streams import Stream
from rbmbench.model.gibbs import Buffers
from rbmbench.model.rbm import RBM, Statistics

__all__ = ["REGISTRY", "Sampler", "check_numbers", "no_rates", "of_replicas"]

REGISTRY = Registry("rbmbench.samplers", "sampler", besides=("coupled_gibbs", "exact"))

Array = Any
State = dict[str, Array]


class Sampler:
    """Base of the samplers; a new one defines `start` and `draw`.

    A sampler holds options and buffers, no state: the state goes into every call and is changed there, so that samples
    may be drawn in pieces of any length. Every replica has a model and random numbers of its own, and may have options
    of its own as well: those that ``of_replica`` names take a number, or one a replica. So the settings of a grid
    search are replicas, and all are sampled at once. ``has_means`` tells whether `draw` gives means too.
    """

    of_replica: tuple[str, ...] = ()
    has_means: bool = True

    def __init__(self):
        self.buffers = Buffers()

    def start(self, rbm: RBM, data: Array, chains: int, stream: Stream) -> State:
        """Return the state before the first sample.

        Parameters
        ----------
        rbm : RBM
            With one leading axis of replicas.
        data : array, shape (rows, m), uint8
            The training set: where chains start, and what rates are averages over.
        chains : int
            Chains of a replica.
        stream : Stream

        Raises
        ------
        SettingsError
            If an option has a number for each replica, but not as many as there are.
        """
        raise NotImplementedError

    def draw(self, rbm: RBM, state: State, stream: Stream, samples: Array, means: Array | None = None) -> None:
        """Draw as many samples as there is room for, the next of every chain.

        Parameters
        ----------
        rbm : RBM
            The model that the state was started with.
        state : dict of arrays
            Changed in place.
        stream : Stream
        samples : array, shape (replicas, chains, samples, m)
            Receives 0 and 1, in whatever type it has.
        means : array, shape as samples, optional
            Receives E(x | h) in [0, 1] beside each sample x: what is shown as grey.
        """
        raise NotImplementedError


def check_numbers(option: str, value: Any, most: float) -> np.ndarray:
    """Return an option that is a number from 0 to ``most``, or one a replica, as float64 with at most one axis.

    Raises
    ------
    SettingsError
        If it is neither; the message names the option.
    """
    try:
        numbers = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        numbers = None
    wrong = numbers is None or np.asarray(value).dtype == bool or numbers.ndim > 1 or not numbers.size
    if wrong or not ((numbers >= 0) & (numbers <= most)).all():
        raise SettingsError(
            f"option {option!r}: found {value!r}; allowed: a number from 0 to {most:g}, or one a replica"
        )
    return numbers


def no_rates(rbm: RBM) -> Statistics:
    """Return zeros, float64, with the shapes of W, b and c: for samplers that nothing draws back by rates."""
    return Statistics(*(np.zeros_like(part, dtype=np.float64) for part in (rbm.W, rbm.b, rbm.c)))


def of_replicas(option: str, numbers: np.ndarray, rbm: RBM) -> np.ndarray:
    """Return an option's numbers, one for each replica of the RBM, float64 (replicas,).

    Raises
    ------
    SettingsError
        If they are neither one nor as many as there are replicas.
    """
    replicas = len(rbm.W)
    if numbers.ndim and len(numbers) != replicas:
        raise SettingsError(
            f"option {option!r}: found {len(numbers)} numbers; allowed: one, or one a replica, {replicas}"
        )
    return np.broadcast_to(numbers, replicas)
