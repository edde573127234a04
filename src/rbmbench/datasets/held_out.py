# SPDX-License-Identifier: BSD-3-Clause
"""Held out: another data set with rows of its training part set aside, for validation and test."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from rbmbench.base.errors import DataError
from rbmbench.datasets import REGISTRY, Dataset
from rbmbench.datasets._recipe import Recipe, Seed, text, whole_number

MOST_ROWS = 10**8


def _options(value: Any, _recipe: Any) -> tuple[bool, str]:
    return isinstance(value, dict), "a mapping of options"


@REGISTRY.register
@dataclass(frozen=True)
class HeldOut(Recipe):
    """The training rows of another data set in random order: the first for training, then validation, then test rows.

    Parameters
    ----------
    data : str
        Name of the other data set.
    options : dict
        Its options; None for its defaults.
    validation, test : int
        Number of rows of these parts; one of them may be 0.
    seed : int
        Seed of the order (numpy's Philox).
    """

    data: Annotated[str, text] = "artificial_modes"
    options: Annotated[dict | None, _options] = None
    validation: Annotated[int, whole_number(0, MOST_ROWS)] = 1000
    test: Annotated[int, whole_number(0, MOST_ROWS)] = 1000
    seed: Seed = 0

    def __post_init__(self):
        super().__post_init__()
        if not self.validation + self.test:
            raise self.refused("validation", "1 or more, or test rows")
        if self.data == self.name:
            raise self.refused("data", "another data set")
        self.other  # noqa: B018  # refuses its options

    @cached_property
    def other(self) -> Recipe:
        """The other data set."""
        return REGISTRY.create(self.data, self.options)

    @property
    def made_from(self) -> tuple[str, ...]:
        """The name of the other data set."""
        return (self.data,)

    @property
    def own_file(self) -> str | None:
        """The user's own file that the rows are read from, if there is one."""
        return self.other.own_file

    @property
    def image(self) -> tuple[int, int] | None:
        """Rows and columns of the images."""
        return self.other.image

    def load(self, sources) -> Dataset:
        """Return the data set; a `DataError` if it would have no training rows."""
        return self.split(self.other.load(sources))

    def split(self, whole: Dataset) -> Dataset:
        """Return the data set from the other one; a `DataError` if it would have no training rows."""
        left = len(whole.train) - self.validation - self.test
        if left < 1:
            raise DataError(
                f"data set {self.name!r}: options 'validation', 'test': must be together less than the "
                f"{len(whole.train)} training rows of {self.data!r}, got {self.validation}, {self.test}"
            )
        order = np.random.Generator(np.random.Philox(self.seed)).permutation(len(whole.train))
        train, validation, test = (
            whole.train.take(part, axis=0) if len(part) else whole.train[:0]
            for part in np.split(order, [left, left + self.validation])
        )
        stand_in = whole.provenance["stand_in_for"]
        return self.build(
            whole.title.removesuffix(f" (stand-in for {stand_in})"),
            train=train,
            validation=validation,
            test=test,
            source=whole.provenance["source"],
            files=whole.provenance["files"],
            preprocessing=f"{whole.provenance['preprocessing']}; training rows in random order, {self.validation} of"
            f" them for validation and {self.test} for testing",
            stand_in_for=stand_in,
            arrays=whole.arrays,
            columns=whole.provenance.get("columns"),
        )
