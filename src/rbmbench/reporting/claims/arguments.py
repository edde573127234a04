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
from rbmbench.base.settings import Settings
from rbmbench.config.paper import Paper
from rbmbench.planning.kinds import Kind


@dataclass(frozen=True)
class Context:
    """Context of the check of an argument: the paper, its published tables, and the other arguments."""

    paper: Paper
    """A paper as published, or as one scale runs it."""
    tables: Mapping[str, Sequence[Settings]]
    """The entries of the paper's published tables, by table."""
    arguments: Mapping[str, object]
    """All arguments of the claim."""

    def text(self, name: str) -> str:
        """Return an argument as text."""
        return str(self.arguments.get(name))

    def setting(self, name: str) -> object:
        """Return a setting of the panel of the argument ``curve``; None if there is none."""
        figure, letter, *_ = [*self.text("curve").split("."), ""]
        return getattr(getattr(self.paper.figures.get(figure), "panels", {}).get(letter), name, None)

    def items(self, kind: str) -> dict[str, Kind]:
        """Return the figures and tables of a kind by their keys."""
        items = self.paper.figures | self.paper.tables
        return {key: item for key, item in items.items() if item.kind == kind}

    def names(self, kind: str) -> Iterator[str]:
        """Yield the names of the parts of all figures or tables of a kind."""
        return (f"{key}.{name}" for key, item in self.items(kind).items() for name in item.names(self.paper))


Allowed = Callable[[Context], Iterable[str]]


@dataclass(frozen=True)
class Names:
    """Marks an argument as the name of a part of the paper, such as ``fig1.a.cd_1``."""

    parts: tuple[str, ...]
    """Nouns for the parts of the name between dots."""
    allowed: Allowed
    """Returns the allowed names in a context."""

    def problem(self, value: str, contexts: Sequence[Context]) -> str | None:
        """Return the message for a name that is unknown in all contexts, else None.

        The message suggests the nearest of the names that agree with the value up to the first unknown part.
        """
        names = sorted({name for context in contexts for name in self.allowed(context)})
        if value in names:
            return None
        for depth, noun in enumerate(self.parts[:-1] if names else (), start=1):
            start, starts = _first(value, depth), {_first(name, depth) for name in names}
            if start not in starts:
                return unknown_name(noun, start, starts)
            names = [name for name in names if _first(name, depth) == start]
        return unknown_name(self.parts[-1], value, names)


@dataclass(frozen=True)
class UpTo:
    """Marks a number with a setting of the panel as its limit, such as an iteration."""

    setting: str
    words: str

    def problem(self, value: int, contexts: Sequence[Context]) -> str | None:
        """Return the message for a number above the limits of all contexts, else None."""
        limits = [limit for context in contexts if (limit := context.setting(self.setting)) is not None]
        if not limits or value <= max(limits):
            return None
        return f"must be at most {max(limits)}, {self.words}, got {value}"


def problems(key: str, annotation: object, value: object, contexts: list[Context]) -> Iterator[str]:
    """Yield the problems of the value of an argument, or of each item of a list, each after its key."""
    mark = mark_of(annotation)
    items = [(f"{key}.{n}", item) for n, item in enumerate(value)] if isinstance(value, list) else [(key, value)]
    for place, item in items:
        if mark and item is not None and (message := mark.problem(item, contexts)):
            yield f"{place}: {message}"


def mark_of(annotation: object) -> Names | UpTo | None:
    """Return the mark of an annotation, also inside a list or a union; None if there is none."""
    for mark in getattr(annotation, "__metadata__", ()):
        if isinstance(mark, Names | UpTo):
            return mark
    return next(filter(None, map(mark_of, get_args(annotation))), None)


def _first(name: str, parts: int) -> str:
    return ".".join(name.split(".")[:parts])


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _curves_of_steps(context: Context) -> Iterator[str]:
    """Yield the names of the learning curves whose estimator has the option k."""
    algorithms, names = context.paper.algorithms, context.names("learning_curves")
    return (name for name in names if "k" in algorithms[_last(name)].stages[-1].options)


def _beside(kind: str) -> Allowed:
    """Return a function that yields the names of a kind in the panel of the argument ``curve``."""
    return lambda context: (
        name for name in context.names(kind) if name.rpartition(".")[0] == context.text("curve").rpartition(".")[0]
    )


def _algorithms_of_figures(context: Context) -> Iterator[str]:
    """Yield the algorithms in the panels of the argument ``figures``."""
    figures = context.arguments.get("figures", ())
    return (_last(name) for name in context.names("learning_curves") if name.partition(".")[0] in figures)


def _options_of_both(context: Context) -> set[str]:
    """Return the options in the grids of the samplers of both ``curve`` and ``against``."""
    samplers = [context.paper.samplers.get(_last(context.text(key))) for key in ("curve", "against")]
    return set.intersection(*(set(sampler.grid) if sampler else set() for sampler in samplers))


def _published_entries(context: Context) -> set[str]:
    """Return the names of the entries whose ``quantity`` is published."""
    quantity, tables = context.text("quantity"), context.tables.items()
    entries = ((key, entry) for key, table in tables for entry in table if getattr(entry, quantity, None))
    return {f"{key}.{entry.row}.{entry.algorithm}" for key, entry in entries} & set(context.names("bias_variance"))


def _algorithms_of_table(context: Context) -> Iterator[str]:
    """Yield the algorithms of the table of the argument ``table``."""
    table = context.paper.tables.get(context.text("table"))
    return table.names(context.paper) if table else iter(())


def _timed_algorithms(context: Context) -> set[str]:
    """Return the algorithms of the argument ``table`` whose time is published."""
    printed = {entry.algorithm for entry in context.tables.get(context.text("table"), ())}
    return printed & set(_algorithms_of_table(context))


def _metrics(context: Context) -> set[str]:
    """Return the metrics of the package, and those in panels of the paper."""
    panels = context.paper.panels_of("learning_curves").values()
    return {*METRICS, *(name for _, panel in panels for name in panel.metric)}


def _name(nouns: str, allowed: Allowed | str, description: str) -> Any:
    """Return the type of a name, with nouns for its parts; ``allowed`` is a kind of figures, or returns the names."""
    names = allowed if callable(allowed) else lambda context: context.names(allowed)
    return Annotated[str, Field(description=description), Names(tuple(nouns.split(", ")), names)]


def _key(kind: str, noun: str, description: str) -> Any:
    """Return the type of the key of a figure or table of a kind."""
    return _name(noun, lambda context: context.items(kind), description)


_CURVE, _SAMPLES = "figure of learning curves, panel", "figure of sampling likelihoods, panel"
_ENTRY, _BESIDE = "table of bias and variance", "curve of the same panel"
_WITH_K = "of an estimator with the option k"
_OF_CURVE = "name of a learning curve: FIGURE.PANEL.ALGORITHM"
_OF_SAMPLES = "name of a curve of sampling likelihoods: FIGURE.PANEL.SAMPLER"
_OF_ENTRY = "name of an entry of a table of bias and variance: TABLE.ROW.ESTIMATOR"

CurveName = _name(f"{_CURVE}, curve", "learning_curves", _OF_CURVE)
CurveBesideName = _name(_BESIDE, _beside("learning_curves"), f"{_OF_CURVE}; of the same panel")
CurveOfStepsName = _name(f"{_CURVE}, curve {_WITH_K}", _curves_of_steps, f"{_OF_CURVE}; {_WITH_K}")
SampleCurveName = _name(f"{_SAMPLES}, curve", "isl_curves", _OF_SAMPLES)
SampleCurveBesideName = _name(_BESIDE, _beside("isl_curves"), f"{_OF_SAMPLES}; of the same panel")
SamplerOption = _name(
    "option in the grids of both samplers", _options_of_both, "name of an option in the grids of both samplers"
)
EntryName = _name(f"{_ENTRY}, row, entry", "bias_variance", _OF_ENTRY)
PublishedEntryName = _name(
    f"{_ENTRY}, row with published values, entry with a published value",
    _published_entries,
    f"{_OF_ENTRY}; with a published value",
)
TimesName = _name("figure of stopping times, coupling", "coupling_times", "name of stopping times: FIGURE.COUPLING")
RankName = _name("figure of ranks, algorithm", "arena_ranks", "name of final ranks: FIGURE.ALGORITHM")
TableName = _key("run_times", "table of run times", "name of a table of run times")
StepTableName = _key("step_times", "table of step times", "name of a table of step times")
StepAlgorithmName = _name("algorithm of the table", _algorithms_of_table, "key of an algorithm of the table")
FigureName = _key("learning_curves", "figure of learning curves", "name of a figure of learning curves")
AlgorithmName = _name("algorithm of these figures", _algorithms_of_figures, "key of an algorithm of the figures")
TimedAlgorithmName = _name(
    "algorithm with a published time", _timed_algorithms, "key of an algorithm of the table with a published time"
)
MetricName = _name("metric", _metrics, "name of a metric of the runs")
ReferenceName = _name(
    "reference line of the panel",
    lambda context: context.setting("references") or (),
    "name of a reference line of the panel of the curve",
)

Window = Annotated[int, Field(ge=1, description="iterations within which a metric rises")]
Iteration = Annotated[
    int,
    Field(ge=0, description="an iteration of training"),
    UpTo("iterations", "the published iterations of the curve"),
]
SampleCount = Annotated[
    int, Field(ge=1, description="a number of samples"), UpTo("samples", "the published samples of the panel")
]
Share = Annotated[float, Field(gt=0, le=1, description="a share, above 0 and at most 1")]
Factor = Annotated[
    float, Field(gt=1, description="largest factor, up or down, between the measured and the published value")
]
# JSON has no infinite numbers, so that schemas omit an infinite default.
Bound = Annotated[float, Field(allow_inf_nan=False, json_schema_extra=lambda schema: schema.pop("default", None))]
