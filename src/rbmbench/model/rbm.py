# SPDX-License-Identifier: BSD-3-Clause
"""Restricted Boltzmann machines with leading replica axes: parameters, energies, conditionals.

Source: Krause, Fischer, Igel, Population-Contrastive-Divergence, section 2 (energy and notation).
"""

import os
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy  # scipy.special is imported at its first use

from rbmbench.base.errors import DataError, ResultsError, SettingsError
from rbmbench.kernels import Array, contiguous, is_array, kernels_for, on_host
from rbmbench.model.rows import binary_rows, means, states_or_missing

MOST_PARAMETER_BYTES = 2**33


class Statistics(NamedTuple):
    """Sufficient statistics or a gradient, with the shapes of W, b and c."""

    W: Array
    b: Array
    c: Array

    def __sub__(self, other: "Statistics") -> "Statistics":
        return Statistics(self.W - other.W, self.b - other.b, self.c - other.c)

    def flat(self) -> Array:
        """Return all entries as one axis, in the order W (row-major), b, c: (..., m n + m + n)."""
        W = self.W.reshape(*self.W.shape[:-2], -1)
        return np.concatenate([W, self.b, self.c], axis=-1)


@dataclass(frozen=True, repr=False, eq=False)
class RBM:
    """A binary RBM, or several of equal size: E(v, h) = -v'W h - b'v - c'h.

    Parameters are kept in C order, writable, as float32 or float64, without a copy if they are so. All three have the
    type to which NumPy promotes theirs, float32 in place of float16, and float64 in place of integers, truth values and
    long double.

    Parameters
    ----------
    weights : array, shape (..., m, n)
        W, real numbers, in any memory layout.
    visible_bias, hidden_bias : array, shapes (..., m), (..., n)
        b and c.

    Raises
    ------
    SettingsError
        If they are not arrays of real numbers, their shapes are inconsistent or empty, or parameters are not finite or
        so large that energies would overflow.
    """

    weights: Array
    visible_bias: Array
    hidden_bias: Array

    def __post_init__(self):
        for name, parameter in zip(("weights", "visible bias", "hidden bias"), self.parameters, strict=True):
            if not is_array(parameter) or np.ma.isMaskedArray(parameter):
                kind = type(parameter).__name__
                raise SettingsError(f"RBM: {name}: must be an array, as numpy.asarray returns it, got a {kind}")
        _check_shapes(self.parameters)
        dtype = _float_type(*(parameter.dtype for parameter in self.parameters))
        with np.errstate(over="ignore"):
            parameters = Statistics(*(contiguous(parameter, dtype) for parameter in self.parameters))
        if not energies_fit(parameters).all():
            raise SettingsError(
                f"RBM: parameters must be finite, with absolute values up to {_largest_allowed(parameters):.1e} "
                f"for energies of this size in {dtype}"
            )
        self.__dict__.update(zip(("weights", "visible_bias", "hidden_bias"), parameters, strict=True))

    def __repr__(self):
        return f"RBM(W {self.W.shape}, b {self.b.shape}, c {self.c.shape}, {self.W.dtype})"

    @property
    def parameters(self) -> Statistics:
        """W, b and c."""
        return Statistics(self.weights, self.visible_bias, self.hidden_bias)

    @property
    def W(self) -> Array:
        """The weights, (..., m, n)."""
        return self.weights

    @property
    def b(self) -> Array:
        """The visible bias, (..., m)."""
        return self.visible_bias

    @property
    def c(self) -> Array:
        """The hidden bias, (..., n)."""
        return self.hidden_bias

    @property
    def visible_units(self) -> int:
        """Number m of visible units."""
        return self.W.shape[-2]

    @property
    def hidden_units(self) -> int:
        """Number n of hidden units."""
        return self.W.shape[-1]

    @property
    def replicas(self) -> "RBM":
        """The RBMs with exactly one leading axis, as views."""
        m, n = self.W.shape[-2:]
        return unchecked_rbm(self.W.reshape(-1, m, n), self.b.reshape(-1, m), self.c.reshape(-1, n))

    def __getitem__(self, index) -> "RBM":
        """Return the RBMs at an index into the leading axes: views if slicing gives contiguous ones, else copies."""
        parameters = Statistics(*(contiguous(p[index], p.dtype) for p in self.parameters))
        _check_shapes(parameters)
        return unchecked_rbm(*parameters)

    def astype(self, dtype) -> "RBM":
        """Return the RBMs with parameters of this type, float32 or float64; no copy if the type is the same.

        Raises a `SettingsError` if the parameters are too large for it.
        """
        dtype = _float_type(np.dtype(dtype))
        if dtype.itemsize < self.W.itemsize:
            with np.errstate(over="ignore"):
                return RBM(*(p.astype(dtype) for p in self.parameters))
        return unchecked_rbm(*(p.astype(dtype, copy=False) for p in self.parameters))

    def copy(self) -> "RBM":
        """Return a copy with its own parameters."""
        return unchecked_rbm(*(p.copy() for p in self.parameters))

    def like(self, array: Array) -> "RBM":
        """Return the RBMs with the array type of ``array``, on its device; no copy if they are on it already."""
        return unchecked_rbm(*(np.asarray(p, like=array) for p in self.parameters))

    def on_host(self) -> "RBM":
        """Return the RBMs with NumPy arrays as parameters; no copy if they are NumPy arrays."""
        return unchecked_rbm(*(on_host(p) for p in self.parameters))

    def sample(
        self, count: int, seed: int = 0, *, sweeps: int = 100, temperatures: int = 10, clamp: object = None
    ) -> Array:
        """Return samples of v from parallel tempering, one from each of ``count`` independent sets of chains.

        They are approximate: the bias decreases with ``sweeps``. `rbmbench.samplers` has streams of samples of a chain,
        and exact samples for models with a small layer.

        Parameters
        ----------
        count : int
            Number of samples of each RBM.
        seed : int
            Seed, from 0 to 2**32 - 1. Equal arguments give equal samples.
        sweeps : int
            Sweeps of parallel tempering that each sample takes.
        temperatures : int
            Inverse temperatures, equally spaced from 0 to 1, at least 2. All chains start from uniform states.
        clamp : array_like, shape (m,) or (rows, m), optional
            Units that are held at 0 or 1, such as the known values of a row; NaN, or a missing value of pandas, where a
            unit is free. The free units are drawn from their law given those that are held.

        Returns
        -------
        ndarray of uint8, shape (..., count, m)
            States, 0 and 1, with the leading axes of the parameters; (..., rows, count, m) for a ``clamp`` of rows.

        Raises
        ------
        SettingsError
            If an argument is out of range.
        DataError
            If ``clamp`` has another number of columns, or entries other than 0, 1 and missing ones.
        """
        from rbmbench.model.tempering import check_budget, clamped_samples, tempered_samples

        check_budget(count, seed, sweeps, temperatures)
        leading, budget = self.b.shape[:-1], (count, seed, sweeps, temperatures)
        if clamp is None:
            samples = tempered_samples(self.replicas, *budget)
            return samples.reshape(*leading, *samples.shape[1:])
        clamped = states_or_missing(clamp, "clamp", self.visible_units)
        samples = clamped_samples(self.replicas, clamped.reshape(-1, self.visible_units), *budget)
        return samples.reshape(*leading, *clamped.shape[:-1], *samples.shape[2:])

    def save(self, path: str | os.PathLike) -> None:
        """Write W, b and c to an .npz file, by the names that ``model.npz`` of a run has.

        `ResultsError` if the file cannot be written.
        """
        from rbmbench.io.results import write_arrays

        write_arrays(path, self.on_host().parameters._asdict())

    @classmethod
    def load(cls, path: str | os.PathLike) -> "RBM":
        """Return the RBMs of a file of `save`, or of ``model.npz`` of a run.

        `ResultsError` if the file is missing or damaged, or holds no W, b and c of finite float32 or float64, or if
        energies would overflow.
        """
        from rbmbench.io.results import read_parameters

        parameters = read_parameters(path).values()
        try:
            return cls(*parameters)
        except SettingsError as error:
            raise ResultsError(f"{path}: {error}") from None

    def energy(self, visible: Array, hidden: Array) -> Array:
        """Return E(v, h) in nats for states (..., rows, m) and (..., rows, n): shape (..., rows).

        This and the methods below take states 0 and 1, or means, of any type, compute in the type of the parameters,
        and raise a `DataError` if states are outside [0, 1] or have other axes.
        """
        visible, hidden = self._visible(visible), self._hidden(hidden)
        _check_broadcast("axes of visible and hidden states", visible.shape[:-1], hidden.shape[:-1])
        W_h = hidden @ self.W.swapaxes(-1, -2)
        return -((W_h + self.b[..., None, :]) * visible).sum(-1) - (hidden @ self.c[..., None])[..., 0]

    def free_energy(self, visible: Array) -> Array:
        """Return F(v) = -log sum_h exp(-E(v, h)) in nats for rows (..., rows, m): shape (..., rows)."""
        visible = self._visible(visible)
        a = visible @ self.W + self.c[..., None, :]
        return -(visible @ self.b[..., None])[..., 0] - np.logaddexp(0, a).sum(-1)

    def hidden_mean(self, visible: Array, inverse_temperature: float = 1.0) -> Array:
        """Return p(h_j = 1 | v) at an inverse temperature, for rows (..., rows, m): shape (..., rows, n)."""
        return _logistic(inverse_temperature * (self._visible(visible) @ self.W + self.c[..., None, :]))

    def visible_mean(self, hidden: Array, inverse_temperature: float = 1.0) -> Array:
        """Return p(v_i = 1 | h) at an inverse temperature, for rows (..., rows, n): shape (..., rows, m)."""
        activation = self._hidden(hidden) @ self.W.swapaxes(-1, -2) + self.b[..., None, :]
        return _logistic(inverse_temperature * activation)

    def _visible(self, states: Array) -> Array:
        return self._means(states, "visible states", self.visible_units)

    def _hidden(self, states: Array) -> Array:
        return self._means(states, "hidden states", self.hidden_units)

    def _means(self, states: Array, label: str, units: int) -> Array:
        states = means(states, label, units, self.W.dtype)
        _check_broadcast(f"leading axes of {label} and of the RBM", states.shape[:-2], self.W.shape[:-2])
        return states


def unchecked_rbm(W: Array, b: Array, c: Array) -> RBM:
    """Return the RBM of parameters computed from those of another RBM, without the conversions and checks of `RBM`.

    They are of one type and in C order. Their entries are not read, and may have become infinite in training.
    """
    rbm = object.__new__(RBM)
    rbm.__dict__.update(weights=W, visible_bias=b, hidden_bias=c)
    return rbm


def energies_fit(parameters: Statistics) -> np.ndarray:
    """Return whether the energies of each RBM, and sums of some of them, are finite in its type: bool (replicas,)."""
    m, n = parameters.W.shape[-2:]
    flat = [p.reshape(-1, size) for p, size in zip(parameters, (m * n, m, n), strict=True)]
    ends = on_host(np.stack([end for p in flat for end in (p.max(axis=1), -p.min(axis=1))]))
    return ends.max(axis=0) <= _largest_allowed(parameters)


def _largest_allowed(parameters: Statistics) -> float:
    """Return the largest parameter for which the sum of all parameters of an RBM is far from overflow."""
    W = parameters.W
    m, n = W.shape[-2:]
    return float(np.finfo(W.dtype).max) / (16 * (m * n + m + n))


def _check_shapes(parameters: Statistics) -> None:
    W, b, c = parameters
    fit = W.ndim >= 2 and b.shape == W.shape[:-1] and c.shape == (*W.shape[:-2], W.shape[-1])
    if not fit or 0 in W.shape:
        raise SettingsError(
            f"RBM: weights {W.shape}, visible bias {b.shape} and hidden bias {c.shape} "
            f"{'are empty' if fit else 'do not fit together'}; must have shapes (..., m, n), (..., m), (..., n)"
        )


def _check_broadcast(label: str, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    try:
        np.broadcast_shapes(first, second)
    except ValueError:
        raise DataError(f"{label}: must be equal or broadcast to each other, got {first} and {second}") from None


def _float_type(*types: np.dtype) -> np.dtype:
    """Return the type of parameters that have these types: float32 or float64."""
    if not all(dtype.kind in "fiub" for dtype in types):
        raise SettingsError(f"RBM: types {', '.join(map(str, types))}: must be real numbers")
    common = np.result_type(*types)
    return np.dtype(np.float32 if common in (np.float16, np.float32) else np.float64)


def _logistic(a: Array) -> Array:
    return np.exp(-np.logaddexp(0, -a))


def clipped_base_rate(data) -> Array:
    """Return the visible bias of independent units with the rates of rows (N, m) of 0 and 1: float64, (m,).

    It is the inverse sigmoid of their mean, clipped to [1 / (2 N), 1 - 1 / (2 N)].
    """
    data = binary_rows(data)
    least = 0.5 / len(data)
    mean = np.clip(data.mean(axis=0, dtype=np.float64), least, 1 - least)
    return np.log(mean / (1 - mean))


def check_parameters_fit(visible: int, hidden: int, trials: int = 1) -> None:
    """Raise a `SettingsError` if W, b and c of all trials would take more than `MOST_PARAMETER_BYTES` in float64."""
    needed = 8 * trials * (visible * hidden + visible + hidden)
    if needed > MOST_PARAMETER_BYTES:
        raise SettingsError(
            f"hidden: parameters must take at most {MOST_PARAMETER_BYTES // 2**30} GB, got {needed / 2**30:.3g} GB "
            f"for {trials} x {visible} x {hidden} units"
        )


def initial_rbm(
    visible_units: int,
    hidden_units: int,
    stream,
    kind="uniform",
    width=0.1,
    dtype=np.float32,
    biases="drawn",
    visible_bias=None,
) -> RBM:
    """Return RBMs, one per trial of the stream, with independent random entries of W, b and c.

    Parameters
    ----------
    visible_units, hidden_units : int
    stream : rbmbench.base.streams.Stream
        Three draws are taken, for W, b and c.
    kind : {"uniform", "normal"}
        Uniform on [-width, width] (as in the tests of the popcd authors' library), or normal with this deviation.
    width : float
    dtype : type
    biases : {"drawn", "zero", "base_rate"}
        With "zero", b and c are zero; with "base_rate", c is zero and b is ``visible_bias``. W does not depend on it.
    visible_bias : ndarray, shape (m,), optional
        For "base_rate", see `clipped_base_rate`.

    Returns
    -------
    RBM
        With parameters (trials, m, n), (trials, m), (trials, n).

    Raises
    ------
    SettingsError
        If they do not fit in memory, see `check_parameters_fit`.
    """
    m, n = visible_units, hidden_units
    check_parameters_fit(m, n, len(stream.trials))
    kernels = kernels_for(np.empty(0))
    scale = {"uniform": lambda u: 2 * u - 1, "normal": lambda u: scipy.special.ndtri(u)}[kind]
    bias_width = {"drawn": width, "zero": 0.0, "base_rate": 0.0}[biases]
    parameters = []
    for shape, factor in (((m, n), width), ((m,), bias_width), ((n,), bias_width)):
        u = kernels.uniforms(stream.next(), int(np.prod(shape)), np.float64)
        parameters.append((factor * scale(u)).reshape(len(stream.trials), *shape).astype(dtype))
    if biases == "base_rate":
        parameters[1] += visible_bias.astype(dtype)
    return RBM(*parameters)


def check_replicas(rbm: RBM) -> None:
    """Raise a `SettingsError` if the RBM does not have one leading axis of replicas."""
    if rbm.W.ndim != 3:
        raise SettingsError(f"RBM: must have one leading axis, as rbm.replicas, got W of shape {rbm.W.shape}")


def check_shape(name: str, array: Array, *shape: int | str) -> None:
    """Raise a `SettingsError` unless an array has this shape, in which a word stands for any length."""
    lengths = zip(shape, array.shape, strict=False)
    if len(shape) != array.ndim or any(length != got for length, got in lengths if not isinstance(length, str)):
        raise SettingsError(f"{name}: must have shape {shape}, got {array.shape}".replace("'", ""))
