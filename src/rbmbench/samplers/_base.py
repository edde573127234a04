# SPDX-License-Identifier: BSD-3-Clause
"""Base of the samplers of the registry, which draw streams of samples."""

from abc import ABC, abstractmethod

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import Registry
from rbmbench.base.streams import Stream
from rbmbench.kernels import Array
from rbmbench.model.gibbs import Buffers
from rbmbench.model.rbm import RBM, Statistics

REGISTRY: "Registry[Sampler]" = Registry(
    "rbmbench.samplers", "sampler", exclude=("coupled_gibbs", "exact", "trajectory_tempering")
)

State = dict[str, Array]


class Sampler(ABC):
    """Base class of samplers; subclasses define `start` and `draw`.

    A sampler holds options and buffers. The state is passed to every call and changed in place, so that samples may be
    drawn in pieces of any length. Each replica has its own model and random numbers. The options named in
    ``of_replica`` take a number, or one per replica, so that the settings of a grid search can be sampled at once as
    replicas. ``has_means`` is true if `draw` supports means.
    """

    of_replica: tuple[str, ...] = ()
    has_means: bool = True

    def __init__(self):
        self.buffers = Buffers()

    @abstractmethod
    def start(self, rbm: RBM, data: Array, chains: int, stream: Stream) -> State:
        """Return the state before the first sample.

        The RBM has one leading axis of replicas, each with ``chains`` chains. ``data`` (rows, m), uint8, is the
        training set, for initial states and averages. Raises a `SettingsError` if an option has a wrong number of
        values per replica.
        """

    @abstractmethod
    def draw(self, rbm: RBM, state: State, stream: Stream, samples: Array, means: Array | None = None) -> None:
        """Fill ``samples`` (replicas, chains, samples, m), of any type, with the next samples of each chain, 0 and 1.

        The RBM is that passed to `start`; the state is changed in place. ``means``, of the shape of the samples,
        receives E(x | h) in [0, 1] for each sample x, shown as grey levels.
        """


def check_numbers(option: str, value: object, most: float) -> np.ndarray:
    """Return an option that is a number from 0 to ``most``, or one per replica, as float64 with at most one axis.

    Raises a `SettingsError` that names the option if it is neither.
    """
    try:
        is_bool, numbers = np.asarray(value).dtype == bool, np.asarray(value, np.float64)
    except (TypeError, ValueError):
        is_bool, numbers = False, np.empty(0)
    if is_bool or numbers.ndim > 1 or not numbers.size or not np.all((numbers >= 0) & (numbers <= most)):
        allowed = f"a number from 0 to {most:g}, or one per replica"
        raise SettingsError(f"option {option!r}: must be {allowed}, got {value!r}")
    return numbers


def no_rates(rbm: RBM) -> Statistics:
    """Return zeros, float64, with the shapes of W, b and c: for samplers without rates."""
    return Statistics(*(np.zeros_like(parameter, dtype=np.float64) for parameter in rbm.parameters))


def per_replica_values(option: str, numbers: np.ndarray, rbm: RBM) -> np.ndarray:
    """Return the values of an option for all replicas of the RBM, float64 (replicas,).

    Raises a `SettingsError` if there is neither one value nor one per replica.
    """
    replicas = len(rbm.W)
    if numbers.ndim and len(numbers) != replicas:
        text = f"must be one, or one per replica, {replicas}, got {len(numbers)} numbers"
        raise SettingsError(f"option {option!r}: {text}")
    return np.broadcast_to(numbers, replicas)
