# SPDX-License-Identifier: BSD-3-Clause
"""The plan of a configuration: jobs, figures and tables.

Equal configurations give equal plans, ids and specs. Jobs that several figures need are planned once.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from rbmbench.base.errors import SettingsError
from rbmbench.base.parsing import parse
from rbmbench.config.loading import Configuration, paper_file
from rbmbench.planning.differences import differences
from rbmbench.planning.jobs import Output, Plan
from rbmbench.planning.kinds import Kind
from rbmbench.planning.runs import Planner

MOST_BYTES = 100_000  # bytes of the settings of a job, which are one argument of its command: a system allows 128 kB


def plan(configuration: Configuration) -> Plan:
    """Return the plan of a configuration, of its targets alone if it has some.

    Raises `SettingsError` if a target is unknown, or two papers have different data sets of one key.
    """
    result = Plan(configuration.main.scale, configuration.main.papers, configuration.studies)
    for paper in configuration.papers:
        for name, entry in paper.data.items():
            other = result.data.setdefault(name, entry)
            if (other.name, other.options) != (entry.name, entry.options):
                raise SettingsError(
                    f"{paper_file(configuration.folder, paper.key)}: data.{name}: must be the data set of the other "
                    f"papers, {other.name} {other.options}, or have another key, got {entry.name} {entry.options}"
                )
        planner = Planner(result, paper)
        published = Planner(Plan("", ()), configuration.published[paper.key])
        printed = configuration.published_tables[paper.key]
        for name, figure in paper.figures.items():
            result.figures[f"{paper.key}_{name}"] = _planned(planner, published, name, figure)
        for name, table in paper.tables.items():
            place = f"{configuration.folder / 'claims' / paper.key}.yaml: published_tables.{name}"
            numbers = {"published": printed.get(name, {})}
            result.tables[f"{paper.key}_{name}"] = _planned(planner, published, name, table, numbers, place)
    if configuration.main.targets is not None:
        try:
            result = result.only(configuration.main.targets)
        except SettingsError as error:
            raise configuration.layers.refuse(("targets",), str(error)) from None
    texts = [(f"{job.id}: settings", job.settings.canonical()) for job in result.jobs.values()]
    texts += [(f"data.{name}: options", json.dumps(entry.options)) for name, entry in result.data.items()]
    for place, text in texts:
        if len(text) > MOST_BYTES:
            raise SettingsError(f"{place}: must have at most {MOST_BYTES} bytes as JSON, got {len(text)}")
    return result


def _planned(
    planner: Planner,
    published: Planner,
    name: str,
    item: Kind,
    printed: Mapping[str, object] = MappingProxyType({}),
    place: str = "",
) -> Output:
    """Return the output of a figure or table, with its differences from the published one in the spec.

    ``printed`` are further values of the spec of a table, ``place`` is theirs, for errors.
    """
    key = f"{planner.paper.key}_{name}"
    output, changes = item.plan(planner, key), ()
    if planner.paper != published.paper:
        of_paper = (published.paper.figures | published.paper.tables).get(name)
        is_comparable = of_paper is not None and of_paper.kind == item.kind
        reference = (of_paper, of_paper.plan(published, key), published) if is_comparable else None
        changes = [difference.model_dump() for difference in differences(item, output, planner, reference)]
    values = output.spec.model_dump(mode="json") | {"differences": changes} | printed
    return replace(output, spec=parse(type(output.spec), values, place))
