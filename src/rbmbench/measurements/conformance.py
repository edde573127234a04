# SPDX-License-Identifier: BSD-3-Clause
"""A set of small RBMs with exact numbers, in plain files, by which any library for RBMs can check itself.

Each model is ``NAME.npz``; small ones are ``NAME.json``, too, with the same names. ``index.json`` says what each is.
All numbers are float64 and in nats; docs/conformance.md defines them. Parameters are multiples of 2^-10, and therefore
exact in float32.

Shapes: W (m, n), b (m,), c (n,), rows (rows, m); T inverse temperatures ``beta``, with a state of both layers for each.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from zlib import crc32

import numpy as np

from rbmbench import datasets, estimators
from rbmbench.base.streams import Purpose, Stream
from rbmbench.io.atomic import write_json
from rbmbench.io.layout import CONFORMANCE_INDEX
from rbmbench.io.results import read_arrays, read_json, write_arrays
from rbmbench.kernels.numpy import uniforms
from rbmbench.likelihood import exact_gradient, exact_log_partition
from rbmbench.model.rbm import RBM, Statistics

SEED, GRID = 20261123, 2.0**-10
STEPS = (1, 2, 5)
"""Gibbs steps of the expected CD gradients."""
BETAS = (0.0, 0.25, 0.5, 0.875, 1.0)
TRAINED_ITERATIONS, TRAINED_RATE = 200, 1.0
MODEL = ("W", "b", "c", "rows", "beta", "swap_visible", "swap_hidden")
"""What a library is given; all other arrays are to be found."""
PARAMETERS = ("W", "b", "c")


@dataclass(frozen=True)
class Reference:
    """A model of the set.

    Attributes
    ----------
    name : str
    what : str
        What it tests, in words.
    arrays : dict of str to ndarray
        `MODEL`, and the exact numbers.
    """

    name: str
    what: str
    arrays: dict[str, np.ndarray]

    @property
    def is_small(self) -> bool:
        """Whether the visible layer is enumerated, too: there are expected CD gradients and a JSON file."""
        return f"cd_{STEPS[0]}_W" in self.arrays

    @property
    def rbm(self) -> RBM:
        """The model."""
        return RBM(*(self.arrays[name] for name in PARAMETERS))


class _Uniforms:
    """Uniforms of a model, float64: by its name, and the same on every machine."""

    def __init__(self, name: str):
        self._stream = Stream(SEED, [crc32(name.encode())], Purpose.DATA)

    def __call__(self, *shape: int) -> np.ndarray:
        return uniforms(self._stream.next(), int(np.prod(shape)), np.float64)[0].reshape(shape)

    def states(self, *shape: int) -> np.ndarray:
        """Return 0 and 1, each with probability 1/2."""
        return (self(*shape) < 0.5).astype(np.uint8)


Builder = Callable[[_Uniforms], tuple[RBM, np.ndarray]]
"""Returns a model and its rows."""


def _on_grid(W, b, c) -> RBM:
    return RBM(*(np.round(np.asarray(values, np.float64) / GRID) * GRID for values in (W, b, c)))


def _rows(m: int, uniform: _Uniforms) -> np.ndarray:
    """Return 7 rows: none and all of the units, a row twice, and others."""
    rows = uniform.states(7, m)
    rows[0], rows[1], rows[3] = 0, 1, rows[2]
    return rows


def _random(m: int, n: int, width: float, uniform: _Uniforms, offset: float = 0.0) -> tuple[RBM, np.ndarray]:
    """Return parameters uniform in +-``width``; ``offset`` is added to b."""
    W, b, c = (width * (2 * uniform(*shape) - 1) for shape in ((m, n), (m,), (n,)))
    return _on_grid(W, b + offset, c), _rows(m, uniform)


def _constant(m: int, n: int, weight: float, uniform: _Uniforms) -> tuple[RBM, np.ndarray]:
    """Return equal weights, with biases for which a state and its complement are equally likely."""
    rbm = _on_grid(np.full((m, n), weight), np.full(m, -weight * n / 2), np.full(n, -weight * m / 2))
    return rbm, _rows(m, uniform)


def _biased(m: int, n: int, bias: float, uniform: _Uniforms) -> tuple[RBM, np.ndarray]:
    """Return biases of both signs up to ``bias``, without weights."""
    b, c = (np.linspace(-bias, bias, units) for units in (m, n))
    return _on_grid(np.zeros((m, n)), b, c), _rows(m, uniform)


def _twins(m: int, n: int, uniform: _Uniforms) -> tuple[RBM, np.ndarray]:
    """Return a random model whose first two hidden units are equal."""
    rbm, rows = _random(m, n, 2.0, uniform)
    rbm.W[:, 1], rbm.c[1] = rbm.W[:, 0], rbm.c[0]
    return rbm, rows


def _trained(data: str, options: dict, n: int, iterations: int, uniform: _Uniforms) -> tuple[RBM, np.ndarray]:
    """Return a model after some steps of the exact gradient on generated data, and at most 16 of their rows."""
    rows = datasets.load(data, **options).train
    m = rows.shape[1]
    rbm = RBM(0.2 * uniform(m, n) - 0.1, np.zeros(m), np.zeros(n))
    distinct = np.unique(rows, axis=0)
    for _ in range(iterations):
        for parameter, step in zip(rbm.parameters, exact_gradient(rbm, rows), strict=True):
            parameter += TRAINED_RATE * step
    return _on_grid(*rbm.parameters), distinct[:: max(1, len(distinct) // 16)][:16]


_of = partial
SMALL: dict[str, tuple[str, Builder]] = {
    "uniform-3x2": ("all parameters are 0", _of(_biased, 3, 2, 0.0)),
    "biases-5x3": ("independent units", _of(_biased, 5, 3, 3.0)),
    "saturated-5x3": ("independent units, most of them certain", _of(_biased, 5, 3, 60.0)),
    "random-1x1": ("one unit in each layer", _of(_random, 1, 1, 1.0)),
    "random-1x5": ("one visible unit", _of(_random, 1, 5, 1.0)),
    "random-5x1": ("one hidden unit", _of(_random, 5, 1, 1.0)),
    "random-2x3": ("fewer visible than hidden units", _of(_random, 2, 3, 1.0)),
    "random-3x2": ("fewer hidden than visible units", _of(_random, 3, 2, 1.0)),
    "random-5x5": ("layers of one size: W must not be transposed", _of(_random, 5, 5, 1.0)),
    "random-7x5": ("moderate weights", _of(_random, 7, 5, 1.0)),
    "random-5x7": ("moderate weights", _of(_random, 5, 7, 1.0)),
    "random-11x3": ("moderate weights", _of(_random, 11, 3, 1.0)),
    "random-3x11": ("moderate weights", _of(_random, 3, 11, 1.0)),
    "weak-7x5": ("nearly independent units", _of(_random, 7, 5, 0.125)),
    "strong-7x5": ("strong weights: chains mix slowly", _of(_random, 7, 5, 5.0)),
    "extreme-7x5": ("exp of an activation overflows in float32", _of(_random, 7, 5, 50.0)),
    "overflow-5x3": ("exp of an activation overflows in float64", _of(_random, 5, 3, 1000.0)),
    "offset-7x5": ("visible units are nearly always 1", _of(_random, 7, 5, 1.0, offset=8.0)),
    "positive-5x5": ("two modes, all units 0 or all 1", _of(_constant, 5, 5, 2.0)),
    "negative-5x5": ("equal negative weights", _of(_constant, 5, 5, -2.0)),
    "twins-7x3": ("two equal hidden units", _of(_twins, 7, 3)),
    "bars_and_stripes-9x5": ("trained", _of(_trained, "bars_and_stripes", {"side": 3}, 5, TRAINED_ITERATIONS)),
    "shifting_bar-7x5": ("trained", _of(_trained, "shifting_bar", {"d": 7, "bar": 2}, 5, TRAINED_ITERATIONS)),
    "one_d_ball-6x4": ("trained", _of(_trained, "one_d_ball", {"d": 6}, 4, TRAINED_ITERATIONS)),
}
LARGE: dict[str, tuple[str, Builder]] = {
    "random-784x16": ("784 visible units, moderate weights", _of(_random, 784, 16, 0.25)),
    "bars_and_stripes-144x18": ("trained", _of(_trained, "bars_and_stripes", {"side": 12}, 18, 5)),
    "strong-256x17": ("strong weights", _of(_random, 256, 17, 2.0)),
    "offset-400x16": ("visible units are mostly 0", _of(_random, 400, 16, 0.5, offset=-3.0)),
}
"""By name: what it is, and its builder."""


def reference(name: str) -> Reference:
    """Return a model of `SMALL` or `LARGE` with its exact numbers, computed anew."""
    what, build = (SMALL | LARGE)[name]
    uniform = _Uniforms(name)
    rbm, rows = build(uniform)
    swap = {"swap_visible": rbm.visible_units, "swap_hidden": rbm.hidden_units}
    given = dict(rbm.parameters._asdict()) | {"rows": rows.astype(np.uint8), "beta": np.array(BETAS)}
    given |= {part: uniform.states(len(BETAS), units) for part, units in swap.items()}
    return Reference(name, what, given | exact_numbers(rbm, given, with_cd=name in SMALL))


def exact_numbers(rbm: RBM, given: dict[str, np.ndarray], with_cd: bool) -> dict[str, np.ndarray]:
    """Return the exact numbers of a model for its rows and states; with the expected CD gradients if asked for."""
    rows, beta = given["rows"].astype(np.float64), given["beta"]
    log_partition, free_energy = exact_log_partition(rbm), rbm.free_energy(rows)
    found = {
        "log_partition": log_partition,
        "tempered_log_partition": np.array([exact_log_partition(_tempered(rbm, one)) for one in beta]),
        "free_energy": free_energy,
        "log_likelihood": -free_energy - log_partition,
        "pseudo_log_likelihood": _pseudo_log_likelihood(rbm, rows, free_energy),
        "hidden_mean": rbm.hidden_mean(rows),
        **_named("gradient", exact_gradient(rbm, given["rows"])),
        **_swaps(rbm, beta, given["swap_visible"], given["swap_hidden"]),
    }
    if with_cd:
        for k in STEPS:
            found |= _named(f"cd_{k}", _expected_cd(rbm, given["rows"], k))
    return found


def _tempered(rbm: RBM, beta: float) -> RBM:
    return RBM(*(beta * parameter for parameter in rbm.parameters))


def _named(name: str, statistics: Statistics) -> dict[str, np.ndarray]:
    return {f"{name}_{part}": values for part, values in statistics._asdict().items()}


def _pseudo_log_likelihood(rbm: RBM, rows: np.ndarray, free_energy: np.ndarray) -> np.ndarray:
    """Return the sum of log p(v_i | all other v) over i, for each row."""
    total = np.zeros(len(rows))
    for unit in range(rbm.visible_units):
        flipped = rows.copy()
        flipped[:, unit] = 1 - flipped[:, unit]
        total -= np.logaddexp(0, free_energy - rbm.free_energy(flipped))
    return total


def _expected_cd(rbm: RBM, rows: np.ndarray, k: int) -> Statistics:
    estimator, replica = estimators.create("expected_cd", k=k), rbm.replicas
    estimate = estimator.estimate(replica, rows[None].astype(np.float64), {}, Stream(SEED, [0]))
    return Statistics(*(part[0] for part in estimator.gradient(estimate)))


def _swaps(rbm: RBM, beta: np.ndarray, visible: np.ndarray, hidden: np.ndarray) -> dict[str, np.ndarray]:
    """Return the energies of the states, and the probabilities to swap those of every pair of temperatures."""
    energy = rbm.energy(visible, hidden)
    tempered = np.array([_tempered(rbm, one).free_energy(visible) for one in beta])
    own = np.diag(tempered)
    of_both = (beta[:, None] - beta) * (energy[:, None] - energy)
    of_visible = own[:, None] + own - tempered - tempered.T
    names = {"swap_acceptance": of_both, "swap_acceptance_visible": of_visible}
    return {"energy": energy} | {name: np.exp(np.minimum(0, exponent)) for name, exponent in names.items()}


def make(folder: str | PathLike) -> Iterator[Reference]:
    """Write the set to a folder; yield each model once it is written."""
    index = {}
    for name in [*SMALL, *LARGE]:
        model = reference(name)
        write_arrays(Path(folder) / f"{name}.npz", model.arrays)
        if model.is_small:
            write_json(Path(folder) / f"{name}.json", {key: value.tolist() for key, value in model.arrays.items()})
        m, n = model.rbm.W.shape
        index[name] = {"what": model.what, "visible": m, "hidden": n, "rows": len(model.arrays["rows"])}
        yield model
    write_json(Path(folder) / CONFORMANCE_INDEX, index)


def read(folder: str | PathLike) -> list[Reference]:
    """Return the models of a folder, in the order of their names; `ResultsError` if a file is missing or damaged."""
    index = read_json(Path(folder) / CONFORMANCE_INDEX)
    arrays = {name: read_arrays(Path(folder) / f"{name}.npz", (*MODEL, "log_partition")) for name in index}
    return [Reference(name, entry["what"], arrays[name]) for name, entry in index.items()]
