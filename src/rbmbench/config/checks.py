# SPDX-License-Identifier: BSD-3-Clause
"""Checks of a paper's settings that concern several of them: parts that exist, options, sizes that can be run."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rbmbench import datasets, estimators, samplers, updates
from rbmbench.base.errors import SettingsError, unknown_name
from rbmbench.base.metrics import METRICS
from rbmbench.base.parsing import parse
from rbmbench.config.layers import Layers
from rbmbench.config.paper import Paper, paper_model
from rbmbench.config.parts import Panel
from rbmbench.model.enumeration import check_sizes
from rbmbench.training.evaluation import check_snapshots_fit

OUTPUTS = "figures", "tables"
RULES = "all", "all_figures", "all_tables", "benchmarks", "claims", "forecast", "report"
"""Names of rules of the workflow, which no target can have."""


def wrong_target(name: str) -> str:
    """Return the error of a name of a paper, figure or table that targets of the workflow cannot have, or else ""."""
    if name in RULES or re.search("_(fig|table)", name):
        return f"must be without _fig and _table, and none of {', '.join(RULES)}, got {name!r}"
    return ""


def checked_paper(key: str, layers: Layers, values: Mapping[str, object]) -> Paper:
    """Return the checked settings of one paper; `SettingsError` for the first value that is not allowed."""
    paper = parse(paper_model(), values, layers.place)
    if paper.key != key:
        raise layers.refuse(("key",), f"must be {key!r}, as the file is named, got {paper.key!r}")
    for place, name in (("key", key), *((part, name) for part in OUTPUTS for name in getattr(paper, part))):
        if wrong := wrong_target(name):
            raise layers.refuse((place,), f"names of papers, figures and tables {wrong}")
    checks = Checks(paper, layers)
    checks.check_parts()
    for section in OUTPUTS:
        for name, item in getattr(paper, section).items():
            item.check(checks, (section, name))
    return paper


class Checks:
    """Checks of one paper's settings, for the kinds of figures and tables to use.

    Every check raises a `SettingsError` of one line for its location. ``layers`` are those of the merged settings.
    """

    def __init__(self, paper: Paper, layers: Layers):
        self.paper, self._layers = paper, layers

    def refuse(self, location: tuple, message: str) -> SettingsError:
        """Return the error for the value at ``location``."""
        return self._layers.refuse(location, message)

    def check_names(self, noun: str, names: Iterable[str], allowed: Iterable[str], location: tuple) -> None:
        """Refuse names that are not allowed; ``noun`` names such a thing in the message, such as "algorithm"."""
        for name in names:
            if name not in allowed:
                raise self.refuse(location, unknown_name(noun, name, allowed))

    def check_algorithms(self, names: Iterable[str], location: tuple) -> None:
        """Refuse algorithms that the paper's file does not define."""
        self.check_names("algorithm", names, self.paper.algorithms, location)

    def check_one_stage(self, names: Iterable[str], location: tuple) -> None:
        """Refuse algorithms that are schedules of several stages."""
        for name in names:
            if len(stages := self.paper.algorithms[name].stages) > 1:
                message = f"must be algorithms of one estimator, got {name!r}, a schedule of {len(stages)} stages"
                raise self.refuse(location, message)

    def check_panel(self, panel: Panel, algorithms: Iterable[str], location: tuple) -> None:
        """Refuse unknown data, schedules or proxies that do not fit, and sizes that are too large."""
        paper, defaults = self.paper, self.paper.defaults
        self.check_labels([paper.algorithms[name].label for name in algorithms], location)
        self.check_names("data set", (panel.data,), paper.data, (*location, "data"))
        self.check_schedules(panel, algorithms, location)
        self.check_sizes_of(panel.data, panel.hidden, algorithms, location)
        proxy, rows = panel.proxy or defaults.proxy, paper.data[panel.data].rows
        self.check_rows(panel.batch, panel.data, (*location, "batch"))
        if proxy and proxy.rows and proxy.rows > rows:
            message = f"must be at most as many rows as the data set has, {rows}, got {proxy.rows}"
            raise self.refuse((*location, "proxy", "rows"), message)
        size = paper.data[panel.data].visible, panel.hidden, panel.trials or defaults.trials
        if panel.bias_bound or defaults.bias_bound:
            with self._placed((*location, "hidden")):
                check_sizes(*size[:2])
        with self._placed(location):
            check_snapshots_fit(*size, panel.iterations, *panel.evaluations(defaults), defaults.precision)

    def check_rows(self, number: int | None, data: str, location: tuple) -> None:
        """Refuse more rows than a data set has."""
        rows = self.paper.data[data].rows
        if number and number > rows:
            raise self.refuse(location, f"must be at most the {rows} rows of the data set, got {number}")

    def check_labels(self, labels: Iterable[str], location: tuple) -> None:
        """Refuse curves of one label in a panel."""
        for label, number in Counter(labels).items():
            if number > 1:
                raise self.refuse(location, f"labels of its curves must differ, got {label!r} {number} times")

    def check_schedules(self, panel: Panel, names: Iterable[str], location: tuple) -> None:
        """Refuse a panel whose iterations are not those of the schedules of its algorithms."""
        for name in names:
            *_, last = ends = [stage.until for stage in self.paper.algorithms[name].stages]
            begins = ends[-2] if len(ends) > 1 else 0
            if panel.iterations <= begins or last not in (None, panel.iterations):
                message = f"must be {f'more than {begins}' if last is None else last}, got {panel.iterations}"
                message += f"; the schedule of {name!r} ends its stages at {ends}"
                raise self.refuse((*location, "iterations"), message)

    def check_metrics(self, metrics: Iterable[str], algorithms: Iterable[str], location: tuple) -> None:
        """Refuse unknown metrics, unless the estimator of a plug-in may report them."""
        stages = [stage for name in algorithms for stage in self.paper.algorithms[name].stages]
        if not any(estimators.REGISTRY.is_foreign(stage.estimator) for stage in stages):
            self.check_names("metric", metrics, METRICS, location)

    def check_parts(self) -> None:
        """Refuse unknown data sets, estimators, update rules and samplers, wrong options, and too large batches."""
        for name, entry in self.paper.data.items():
            with self._placed(("data", name)):
                own_file = datasets.REGISTRY.create(entry.name, entry.options).own_file
            if own_file and not Path(own_file).is_file():
                message = f"must be a file with your data, got {own_file!r}, which is missing or no regular file"
                inner = ("options",) * (entry.name == "held_out")
                raise self.refuse(("data", name, "options", *inner, "path"), message)
            self.check_rows(entry.batch, name, ("data", name, "batch"))
        for name, algorithm in self.paper.algorithms.items():
            for number, stage in enumerate(algorithm.stages):
                location = ("algorithms", name, *(("schedule", number) if algorithm.schedule else ()))
                with self._placed(location):
                    estimator = estimators.REGISTRY.create(stage.estimator, stage.options)
                    rule = updates.REGISTRY.create(stage.update.name, stage.update.options)
                with self._placed((*location, "update")):
                    rule.check(estimator)
        for name, entry in self.paper.samplers.items():
            with self._placed(("samplers", name)):
                for options in entry.grid_of_settings.settings:
                    samplers.REGISTRY.create(entry.sampler, options)

    def check_sizes_of(self, data: str, hidden: int, names: Iterable[str], location: tuple) -> None:
        """Refuse a model that is too large for one of the algorithms."""
        with self._placed((*location, "hidden")):
            for stage in (stage for name in names for stage in self.paper.algorithms[name].stages):
                estimator = estimators.REGISTRY.create(stage.estimator, stage.options)
                estimator.check_sizes(self.paper.data[data].visible, hidden)

    @contextmanager
    def _placed(self, location: tuple) -> Iterator[None]:
        """Add ``location`` to a `SettingsError` raised in the block."""
        try:
            yield
        except SettingsError as error:
            raise self.refuse(location, str(error)) from None
