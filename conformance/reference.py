# SPDX-License-Identifier: BSD-3-Clause
"""A set of small RBMs with exact numbers, in plain files, by which any library for RBMs can check itself.

Each model is ``NAME.npz``; small ones are ``NAME.json``, too, with the same names. ``index.json`` describes them.
All numbers are float64 and in nats; docs/conformance.md defines them. Parameters are multiples of 2^-10, and therefore
exact in float32. The models are kept, not trained again: training amplifies the rounding of the processor.

Shapes: W (m, n), b (m,), c (n,), rows (rows, m); T inverse temperatures ``beta``, with a state of both layers for each.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np

from rbmbench import estimators
from rbmbench.base.streams import Stream
from rbmbench.io.atomic import write_json
from rbmbench.io.results import read_arrays, read_json, write_arrays
from rbmbench.likelihood import exact_gradient, exact_log_partition
from rbmbench.likelihood.pseudo import pseudo_log_likelihood
from rbmbench.model.rbm import RBM, Statistics

FOLDER, INDEX = Path(__file__).parent / "models", "index.json"
STEPS = (1, 2, 5)
"""Gibbs steps of the expected CD gradients."""
MODEL = ("W", "b", "c", "rows", "beta", "swap_visible", "swap_hidden")
"""Inputs of a library; all other arrays are results."""
PARAMETERS = ("W", "b", "c")


@dataclass(frozen=True)
class Reference:
    """A model of the set.

    Attributes
    ----------
    name : str
    what : str
        The subject of its test, in words.
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


def exact_numbers(rbm: RBM, inputs: dict[str, np.ndarray], with_cd: bool) -> dict[str, np.ndarray]:
    """Return the exact numbers of a model for its rows and states; ``with_cd`` adds the expected CD gradients."""
    rows, beta = inputs["rows"].astype(np.float64), inputs["beta"]
    log_partition, free_energy = exact_log_partition(rbm), rbm.free_energy(rows)
    numbers = {
        "log_partition": log_partition,
        "tempered_log_partition": np.array([exact_log_partition(_tempered(rbm, temperature)) for temperature in beta]),
        "free_energy": free_energy,
        "log_likelihood": -free_energy - log_partition,
        "pseudo_log_likelihood": pseudo_log_likelihood(rbm, inputs["rows"]),
        "hidden_mean": rbm.hidden_mean(rows),
        **_named("gradient", exact_gradient(rbm, inputs["rows"])),
        **_swaps(rbm, beta, inputs["swap_visible"], inputs["swap_hidden"]),
    }
    if with_cd:
        for k in STEPS:
            numbers |= _named(f"cd_{k}", _expected_cd(rbm, inputs["rows"], k))
    return numbers


def _tempered(rbm: RBM, beta: float) -> RBM:
    return RBM(*(beta * parameter for parameter in rbm.parameters))


def _named(name: str, statistics: Statistics) -> dict[str, np.ndarray]:
    return {f"{name}_{part}": values for part, values in statistics._asdict().items()}


def _expected_cd(rbm: RBM, rows: np.ndarray, k: int) -> Statistics:
    estimator, replica = estimators.create("expected_cd", k=k), rbm.replicas
    estimate = estimator.estimate(replica, rows[None].astype(np.float64), {}, Stream(0, [0]))
    return Statistics(*(array[0] for array in estimator.gradient(estimate)))


def _swaps(rbm: RBM, beta: np.ndarray, visible: np.ndarray, hidden: np.ndarray) -> dict[str, np.ndarray]:
    """Return the energies of the states, and the probabilities to swap those of every pair of temperatures."""
    energy = rbm.energy(visible, hidden)
    tempered = np.array([_tempered(rbm, temperature).free_energy(visible) for temperature in beta])
    diagonal = np.diag(tempered)
    exponents = (beta[:, None] - beta) * (energy[:, None] - energy)
    visible_exponents = diagonal[:, None] + diagonal - tempered - tempered.T
    names = {"swap_acceptance": exponents, "swap_acceptance_visible": visible_exponents}
    return {"energy": energy} | {name: np.exp(np.minimum(0, exponent)) for name, exponent in names.items()}


def make(folder: str | PathLike, models: str | PathLike = FOLDER) -> Iterator[Reference]:
    """Compute the numbers of the models of a folder anew; write both to ``folder``, and yield the models."""
    index = read_json(Path(models) / INDEX)
    for model in read(models):
        inputs = {name: model.arrays[name] for name in MODEL}
        new = replace(model, arrays=inputs | exact_numbers(model.rbm, inputs, model.is_small))
        write_arrays(Path(folder) / f"{new.name}.npz", new.arrays)
        if new.is_small:
            write_json(Path(folder) / f"{new.name}.json", {key: value.tolist() for key, value in new.arrays.items()})
        yield new
    write_json(Path(folder) / INDEX, index)


def read(folder: str | PathLike = FOLDER) -> list[Reference]:
    """Return the models of a folder, in the order of their names; `ResultsError` if a file is missing or damaged."""
    index = read_json(Path(folder) / INDEX)
    arrays = {name: read_arrays(Path(folder) / f"{name}.npz", (*MODEL, "log_partition")) for name in index}
    return [Reference(name, entry["what"], arrays[name]) for name, entry in index.items()]
