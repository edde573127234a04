# SPDX-License-Identifier: BSD-3-Clause
"""Probes: jobs in miniature, whose results are equal for versions of the code that compute the same.

A probe has the options of its job, with small numbers: few units, iterations, chains and samples. Its results are
described by some numbers that are the same on every machine: in float64, by the reference kernels, rounded to 6 digits.
The kernels in use must agree with the reference, on the same random numbers and in the precision of the job. If they do
not, the description has their numbers, too.
"""

import hashlib
import json
import operator
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd

from rbmbench.base.errors import SettingsError
from rbmbench.base.settings import Settings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import kernels_for, reference_kernels, ways
from rbmbench.model.rbm import RBM, initial_rbm

# Changing any of these numbers changes all fingerprints, and with them makes all results again.
MOST = 3  # for whole numbers in settings and options
VISIBLE, HIDDEN, MANY_HIDDEN = 83, 11, 29
"""Units: beyond the width of vectors and packed words, with layers that can be enumerated and that cannot."""
FEW = 7, 5  # for estimators that take small models only
ROWS, BATCH, UNSEEN, TRIALS = 97, 30, 13, 2  # a batch that small numbers divide
DIGITS, COARSE_DIGITS = 6, 2
AGREES = 1e-3  # difference between kernels in float32; one unit that is sampled otherwise makes a greater one
SEEDS = 1, 2  # rounding decides about one sampled unit in ten million: with one of the seeds, but hardly ever with both

Arrays = dict[str, np.ndarray]


def reduced(kind, settings: Settings) -> Settings:
    """Return the settings of the probe of a job: those of the job, with small numbers and without its seed."""
    values = _capped(settings.model_dump(mode="json"))
    return type(settings).model_validate(values | kind.reduced(settings, values) | {"seed": SEEDS[0]})


def _capped(value: object) -> object:
    if isinstance(value, dict):
        return {key: _capped(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_capped(entry) for entry in value]
    return min(value, MOST) if isinstance(value, int) and not isinstance(value, bool) else value


def behaviour(kind, settings: Settings, enumerable: bool) -> str:
    """Return 10 hexadecimal digits that are the same for all code that computes the same from `reduced` settings.

    ``enumerable`` is true if a layer of the models can be enumerated. A `SettingsError` is raised if the settings
    cannot be probed, for example because an option must be larger than `MOST`.
    """
    # Numbers that are not finite are described like others.
    with np.errstate(all="ignore"):
        with reference_kernels():
            probe, exact = _sized(kind, settings, HIDDEN if enumerable else MANY_HIDDEN)
        descriptions = [_described(exact, DIGITS), *_disagreements(probe, getattr(settings, "precision", "float32"))]
    return hashlib.sha256(json.dumps(descriptions, sort_keys=True).encode()).hexdigest()[:10]


def _sized(kind, settings: Settings, hidden: int) -> tuple[Callable[[int, str], Arrays], Arrays]:
    """Return the probe as a function of seed and precision, and its arrays, with smaller models if need be."""

    def probe(seed: int, precision: str, sizes: tuple[int, int] = (VISIBLE, hidden)) -> Arrays:
        return kind.probe(settings.model_copy(update={"seed": seed}), *sizes, precision)

    try:
        return probe, probe(SEEDS[0], "float64")
    except SettingsError:
        small = partial(probe, sizes=FEW)
        return small, small(SEEDS[0], "float64")


def _disagreements(probe: Callable[[int, str], Arrays], precision: str) -> Iterator[dict[str, list]]:
    """Yield descriptions of the results of the kernels in use, for ways of products that differ from the reference.

    A way differs if it does so for all seeds.
    """
    differ = {"library": {}, "tables": {}}
    for seed in SEEDS:
        with reference_kernels():
            expected = probe(seed, precision)
        for way in list(differ):
            with ways.by_hand(way):
                differ[way] = probe(seed, precision)
            shapes = ({name: array.shape for name, array in arrays.items()} for arrays in (differ[way], expected))
            if operator.eq(*shapes) and all(
                np.allclose(differ[way][name], expected[name], AGREES, AGREES, equal_nan=True) for name in expected
            ):
                del differ[way]
        if not differ:
            return
    yield from (_described(arrays, COARSE_DIGITS) for arrays in differ.values())


def _described(arrays: Arrays, digits: int) -> dict[str, list]:
    """Return the shape of each array and a weighted sum of its entries as a whole number, in units of a last digit.

    Limits between whole numbers avoid numbers of few digits, which are common, so that rounding errors do not decide.
    """
    described = {}
    for name, array in arrays.items():
        weights = np.cos(np.arange(array.size, dtype=np.float64)).reshape(array.shape)
        total = float((weights * array).sum())
        number = int(np.floor(total * 10**digits + 0.37)) if np.isfinite(total) else str(np.isnan(array).sum())
        described[name] = [array.shape, number]
    return described


def rows(visible: int) -> np.ndarray:
    """Return rows of 0 and 1, uint8 (rows, m)."""
    uniforms = kernels_for(np.empty(0)).uniforms(Stream(0, [0], Purpose.DATA).next(), ROWS * visible, np.float64)
    return (uniforms.reshape(ROWS, visible) < 0.4).astype(np.uint8)


def models(visible: int, hidden: int, precision: str) -> RBM:
    """Return random models, one replica per trial."""
    stream = Stream(0, range(TRIALS), Purpose.INITIAL_PARAMETERS)
    return initial_rbm(visible, hidden, stream, "normal", 0.3, np.dtype(precision))


def by_column(table: pd.DataFrame, column: str) -> Arrays:
    """Return the values of a tidy table by the entries of a column."""
    return {name: group["value"].to_numpy(np.float64) for name, group in table.groupby(column)}
