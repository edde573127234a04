"""From the configuration to what has to be computed: runs, ground truths and estimates, and who needs which.

Everything here is pure: equal configurations give equal plans, ids and specs. What two figures share is there once.
"""

from dataclasses import replace
from typing import Any

from rbmbench.base.errors import SettingsError
from rbmbench.config.loading import Configuration
from rbmbench.config.paper import Paper
from rbmbench.planning import couplings, curves, gradients, samples
from rbmbench.planning.jobs import Plan
from rbmbench.planning.runs import absent

__all__ = ["plan"]

MAKERS = {
    "learning_curves": curves.learning_curves,
    "coupling_times": couplings.coupling_times,
    "isl_curves": samples.isl_curves,
    "sample_sheets": samples.sample_sheets,
    "bias_variance": gradients.bias_variance,
    "run_times": curves.run_times,
}


def plan(configuration: Configuration) -> Plan:
    """Return what has to be computed for a configuration.

    Raises
    ------
    SettingsError
        If two papers mean different data sets by one key.
    """
    result = Plan(configuration.main.scale, configuration.main.papers)
    for paper in configuration.papers:
        _add_data(result, paper)
        published = configuration.published[paper.key]
        for name, figure in paper.figures.items():
            key, as_published = f"{paper.key}_{name}", _of_kind(published.figures.get(name), figure)
            made = MAKERS[figure.kind](result, paper, published, key, figure, as_published)
            result.figures[key] = replace(made, spec=made.spec | {"absent": absent(figure, as_published)})
        for name, table in paper.tables.items():
            key, as_published = f"{paper.key}_{name}", _of_kind(published.tables.get(name), table)
            made = MAKERS[table.kind](result, paper, published, key, table, as_published)
            numbers = configuration.published_tables[paper.key].get(name, {})
            more = {"published": numbers, "absent": absent(table, as_published)}
            result.tables[key] = replace(made, spec=made.spec | more)
    return result


def _of_kind(published: Any, what: Any) -> Any:
    """Return the published settings of a figure or table if there are any and they are of its kind."""
    return published if published is not None and published.kind == what.kind else None


def _add_data(result: Plan, paper: Paper) -> None:
    """Add a paper's data sets; one key must mean one data set, for it names the file."""
    for name, entry in paper.data.items():
        known = result.data.setdefault(name, entry)
        if (known.name, known.options) != (entry.name, entry.options):
            raise SettingsError(
                f"config/papers/{paper.key}.yaml: data.{name}: found {entry.name} {entry.options}; another paper means "
                f"{known.name} {known.options} by this key: give one of them another key"
            )
