# SPDX-License-Identifier: BSD-3-Clause
"""Evidence of claims: curves, table entries and times, by name.

A name is ``fig1.a.cd_1`` (figure, panel, algorithm or sampler), ``table1.letters_16.cd_1`` (table, row, estimator),
``fig5.rbm`` (figure, coupling) or ``table2`` (a table of run times). Each kind of figure or table returns the evidence
of its names.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from rbmbench.base.errors import SettingsError
from rbmbench.planning.specs import Shown, Source


class NotRun(Exception):
    """Evidence of a claim is not part of this scale; ``published`` is the paper's number, if there is one."""

    def __init__(self, message: str, published: float | None = None):
        super().__init__(message)
        self.published = published


class Evidence:
    """The figures and tables of one paper at one scale; each is read once, at its first use.

    ``specs`` of other papers are ignored. ``published`` has the printed tables of the paper, from its claims file.
    """

    def __init__(self, paper: str, specs: Iterable[Shown], published: Mapping[str, dict] | None = None):
        self._specs = {spec.name: spec for spec in specs if spec.paper == paper}
        self._published = dict(published or {})
        self._read = cache(lambda key: self._specs[key].read())
        self._source = cache(lambda key, name, **options: self._specs[key].evidence(self._read(key), name, **options))
        self.used: list[Source] = []
        """All sources that `of` returned; cleared before a measurement to record the sources of that."""

    def of(self, name: str, kind: str = "learning_curves", **options: object) -> Any:
        """Return the source of a name such as ``fig1.a.cd_1``; see `Shown.evidence` for the options.

        Raises
        ------
        NotRun
            If figure, table or part is not part of this scale.
        ResultsError
            If it is, and its files are missing or damaged or have no such metric.
        SettingsError
            If its figure or table is of another kind, or has names of another form.
        """
        key, _, inner = str(name).partition(".")
        if spec := self._specs.get(key):
            if spec.kind != kind:
                raise SettingsError(f"claims: {name!r}: must be of the kind {kind!r}, got {spec.kind!r}")
            if name.count(".") != spec.NAMES.count("."):
                raise SettingsError(f"claims: must have the form {spec.NAMES}, got {name!r}")
            if source := self._source(key, inner, **options):
                self.used.append(source)
                return source
        raise NotRun(f"{name} is not part of this scale")

    def spec(self, name: str) -> Shown | None:
        """Return the spec of a figure or table, None when it is not part of this scale."""
        return self._specs.get(name)

    def published(self, name: str, quantity: str) -> float | None:
        """Return the paper's number for an entry of a table (TABLE.ROW.ESTIMATOR), None if it has none."""
        table, row, algorithm = name.split(".")
        for entry in self._published.get(table, {}).get("entries", ()):
            if (entry.get("row"), entry.get("algorithm")) == (row, algorithm):
                return entry.get(quantity)
        return None
