# SPDX-License-Identifier: BSD-3-Clause
"""Types of the arguments of measurements, and the check of their values against the papers.

An argument that names a part of a paper, or that is limited by one of its settings, is annotated with a mark: `Names`
or `UpTo`. A mark checks a value against the papers alone, before anything is computed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_args

from pydantic import Field

from rbmbench.base.errors import unknown_name
from rbmbench.base.metrics import METRICS
from rbmbench.config.paper import Paper


@dataclass(frozen=True)
class Context:
    """What the value of one argument is checked against."""

    paper: Paper
    """A paper as published, or as one scale runs it."""
    tables: Mapping[str, Iterable[Any]]
    """The entries of the paper's published tables, by table."""
    arguments: Mapping[str, object]
    """All arguments of the claim."""

    @property
    def panel(self) -> Any:
        """The settings of the panel of the argument ``curve``; None if there is none."""
        figure, letter, *_ = [*str(self.arguments.get("curve")).split("."), ""]
        return getattr(self.paper.figures.get(figure), "panels", {}).get(letter)


@dataclass(frozen=True)
class Names:
    """Marks an argument as the name of a part of the paper, such as ``fig1.a.cd_1``."""

    parts: tuple[str, ...]
    """What the parts of the name between dots are, in words."""
    known: Callable[[Context], Iterable[str]]
    """Returns the names that are known in a context."""

    def problem(self, value: str, contexts: Sequence[Context]) -> str | None:
        """Return the message for a name that is unknown in all contexts, else None.

        It names the nearest of the names that agree with the value up to the first part that is unknown.
        """
        if any(value in self.known(context) for context in contexts):
            return None
        known = sorted({name for context in contexts for name in self.known(context)})
        for depth, part in enumerate(self.parts[:-1] if known else (), start=1):
            start, allowed = _first(value, depth), {_first(name, depth) for name in known}
            if start not in allowed:
                return unknown_name(part, start, allowed)
            known = [name for name in known if _first(name, depth) == start]
        return unknown_name(self.parts[-1], value, known)


@dataclass(frozen=True)
class UpTo:
    """Marks a number that a setting of the paper limits, such as an iteration."""

    what: str
    """The setting, in words."""
    most: Callable[[Context], int | None]
    """Returns the limit in a context; None: no limit."""

    def problem(self, value: int, contexts: Sequence[Context]) -> str | None:
        """Return the message for a number above the limits of all contexts, else None."""
        limits = [limit for limit in map(self.most, contexts) if limit is not None]
        if not limits or value <= max(limits):
            return None
        return f"must be at most {max(limits)}, {self.what}, got {value}"


def problems(key: str, annotation: object, value: object, contexts: list[Context]) -> Iterator[str]:
    """Yield what is wrong with the value of an argument, or with each item of a list, after its key."""
    mark = mark_of(annotation)
    items = [(f"{key}.{n}", item) for n, item in enumerate(value)] if isinstance(value, list) else [(key, value)]
    for place, item in items:
        if mark and item is not None and (message := mark.problem(item, contexts)):
            yield f"{place}: {message}"


def mark_of(annotation: object) -> Names | UpTo | None:
    """Return the mark of an annotation, which may stand inside a list or a union; None if there is none."""
    for part in getattr(annotation, "__metadata__", ()):
        if isinstance(part, Names | UpTo):
            return part
    return next(filter(None, map(mark_of, get_args(annotation))), None)


def _first(name: str, parts: int) -> str:
    return ".".join(name.split(".")[:parts])


def _names(kind: str) -> Callable[[Context], Iterator[str]]:
    """Return a function that yields the names of the parts of all figures or tables of one kind."""
    return lambda context: (
        f"{key}.{name}" for key, item in _of_kind(kind, context.paper) for name in item.names(context.paper)
    )


def _keys(kind: str) -> Callable[[Context], Iterator[str]]:
    """Return a function that yields the keys of all figures or tables of one kind."""
    return lambda context: (key for key, _ in _of_kind(kind, context.paper))


def _of_kind(kind: str, paper: Paper) -> Iterator[tuple[str, Any]]:
    return ((key, item) for key, item in [*paper.figures.items(), *paper.tables.items()] if item.kind == kind)


_curves, _sample_curves, _entries = _names("learning_curves"), _names("isl_curves"), _names("bias_variance")


def _beside(names: Callable[[Context], Iterable[str]]) -> Callable[[Context], Iterator[str]]:
    """Return a function that yields, of some names, those of the panel of the argument ``curve``."""

    def known(context: Context) -> Iterator[str]:
        panel = str(context.arguments.get("curve")).rpartition(".")[0]
        return (name for name in names(context) if name.rpartition(".")[0] == panel)

    return known


def _curves_of_steps(context: Context) -> Iterator[str]:
    """Yield the names of the learning curves whose estimator is given the option k."""
    algorithms = context.paper.algorithms
    return (name for name in _curves(context) if "k" in algorithms[name.rpartition(".")[2]].stages[-1].options)


def _algorithms_of_figures(context: Context) -> Iterator[str]:
    """Yield the algorithms that the panels of the argument ``figures`` show."""
    figures = context.arguments.get("figures", ())
    return (name.rpartition(".")[2] for name in _curves(context) if name.partition(".")[0] in figures)


def _options_of_both(context: Context) -> set[str]:
    """Return the options in the grids of the samplers of both ``curve`` and ``against``."""
    names = [str(context.arguments.get(key)).rpartition(".")[2] for key in ("curve", "against")]
    samplers = [context.paper.samplers.get(name) for name in names]
    return set.intersection(*(set(one.grid) if one else set() for one in samplers))


def _published_entries(context: Context) -> Iterator[str]:
    """Yield the names of the entries whose ``quantity`` is published."""
    quantity = str(context.arguments.get("quantity"))
    printed = {
        f"{table}.{entry.row}.{entry.algorithm}"
        for table, entries in context.tables.items()
        for entry in entries
        if getattr(entry, quantity, None) is not None
    }
    return (name for name in _entries(context) if name in printed)


def _timed_algorithms(context: Context) -> Iterator[str]:
    """Yield the algorithms of the argument ``table`` whose time is published."""
    key = str(context.arguments.get("table"))
    table, printed = context.paper.tables.get(key), {entry.algorithm for entry in context.tables.get(key, ())}
    return (name for name in (table.names(context.paper) if table else ()) if name in printed)


def _algorithms_of_table(context: Context) -> Iterator[str]:
    """Yield the algorithms that the argument ``table`` times."""
    table = context.paper.tables.get(str(context.arguments.get("table")))
    return table.names(context.paper) if table else iter(())


def _metrics(context: Context) -> set[str]:
    """Return the metrics that the package knows, and those that panels of the paper show."""
    panels = context.paper.panels_of("learning_curves").values()
    return {*METRICS, *(name for _, panel in panels for name in panel.metric)}


def _name(parts: tuple[str, ...], known: Callable[[Context], Iterable[str]], description: str) -> Any:
    """Return the type of a name, with its mark and its description for the JSON schema."""
    return Annotated[str, Field(description=description), Names(parts, known)]


def _setting(name: str, otherwise: object = None) -> Callable[[Context], object]:
    """Return a function that reads a setting of the panel of the argument ``curve``."""
    return lambda context: getattr(context.panel, name, otherwise)


_CURVE = ("figure of learning curves", "panel", "curve")
_SAMPLES = ("figure of sampling likelihoods", "panel", "curve")
_ENTRY = ("table of bias and variance", "row", "entry")
_PUBLISHED = (_ENTRY[0], "row with published values", "entry with a published value")
_TIMES = ("figure of stopping times", "coupling")
_BESIDE = ("curve of the same panel",)
_WITH_K = "of an estimator with the option k"
_OF_CURVE = "name of a learning curve: FIGURE.PANEL.ALGORITHM"
_OF_SAMPLES = "name of a curve of sampling likelihoods: FIGURE.PANEL.SAMPLER"
_OF_ENTRY = "name of an entry of a table of bias and variance: TABLE.ROW.ESTIMATOR"

CurveName = _name(_CURVE, _curves, _OF_CURVE)
CurveBesideName = _name(_BESIDE, _beside(_curves), f"{_OF_CURVE}; of the same panel")
CurveOfStepsName = _name((*_CURVE[:2], f"curve {_WITH_K}"), _curves_of_steps, f"{_OF_CURVE}; {_WITH_K}")
SampleCurveName = _name(_SAMPLES, _sample_curves, _OF_SAMPLES)
SampleCurveBesideName = _name(_BESIDE, _beside(_sample_curves), f"{_OF_SAMPLES}; of the same panel")
SamplerOption = _name(
    ("option in the grids of both samplers",), _options_of_both, "name of an option in the grids of both samplers"
)
EntryName = _name(_ENTRY, _entries, _OF_ENTRY)
PublishedEntryName = _name(_PUBLISHED, _published_entries, f"{_OF_ENTRY}; with a published value")
TimesName = _name(_TIMES, _names("coupling_times"), "name of stopping times: FIGURE.COUPLING")
RankName = _name(("figure of ranks", "algorithm"), _names("arena_ranks"), "name of final ranks: FIGURE.ALGORITHM")
TableName = _name(("table of run times",), _keys("run_times"), "name of a table of run times")
StepTableName = _name(("table of step times",), _keys("step_times"), "name of a table of step times")
StepAlgorithmName = _name(("algorithm of the table",), _algorithms_of_table, "key of an algorithm of the table")
FigureName = _name(_CURVE[:1], _keys("learning_curves"), "name of a figure of learning curves")
AlgorithmName = _name(("algorithm of these figures",), _algorithms_of_figures, "key of an algorithm of the figures")
TimedAlgorithmName = _name(
    ("algorithm with a published time",), _timed_algorithms, "key of an algorithm of the table with a published time"
)
MetricName = _name(("metric",), _metrics, "name of a metric of the runs")
ReferenceName = _name(
    ("reference line of the panel",), _setting("references", ()), "name of a reference line of the panel of the curve"
)

_OF_TRAINING = UpTo("the published iterations of the curve", _setting("iterations"))
_OF_STREAM = UpTo("the published samples of the panel", _setting("samples"))
Window = Annotated[int, Field(ge=1, description="iterations within which a metric rises")]
Iteration = Annotated[int, Field(ge=0, description="an iteration of training"), _OF_TRAINING]
SampleCount = Annotated[int, Field(ge=1, description="a number of samples"), _OF_STREAM]
Share = Annotated[float, Field(gt=0, le=1, description="a share, above 0 and at most 1")]
Factor = Annotated[
    float, Field(gt=1, description="largest factor, up or down, between the measured and the published value")
]
# JSON has no infinite numbers, so that an infinite default stands in no schema.
Bound = Annotated[float, Field(allow_inf_nan=False, json_schema_extra=lambda schema: schema.pop("default", None))]
