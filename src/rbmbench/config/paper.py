# SPDX-License-Identifier: BSD-3-Clause
"""The model of ``config/papers/KEY.yaml``, and the JSON schemas of the configuration."""

from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from rbmbench.base.registry import Registry
from rbmbench.base.settings import Settings
from rbmbench.config.parts import Algorithm, DataEntry, Defaults, FigureName, MainConfig, Name, SamplerEntry, TableName

KINDS: Registry = Registry("rbmbench.kinds", "kind", attributes=("SPEC",))
"""Kinds of figures and tables, subclasses of `rbmbench.planning.kinds.Kind`."""


class Paper(Settings):
    """papers/KEY.yaml: the published settings of one paper."""

    key: Name = Field(description="key of the paper; equal to the file's name")
    title: str = Field(description="title of the paper")
    citation: str = Field(description="authors. journal, year; a full stop ends the authors")
    defaults: Defaults = Field(description="settings of every run, unless a panel has its own")
    data: dict[Name, DataEntry] = Field(min_length=1, description="the data sets, each under a key that panels name")
    algorithms: dict[Name, Algorithm] = Field(min_length=1, description="the algorithms, each under a key")
    samplers: dict[Name, SamplerEntry] = Field(default={}, description="the samplers, by name")
    figures: dict[FigureName, Any] = Field(default={}, description="the figures, by name")
    tables: dict[TableName, Any] = Field(default={}, description="the tables, by name")

    def panels_of(self, kind: str) -> dict[str, tuple[Any, Any]]:
        """Return all figures of a kind with their panels, by FIGURE.PANEL."""
        figures = [(name, figure) for name, figure in self.figures.items() if figure.kind == kind]
        return {f"{name}.{key}": (figure, panel) for name, figure in figures for key, panel in figure.panels.items()}


def paper_model() -> type[Paper]:
    """Return `Paper` with all kinds of figures and tables there are, those of plug-ins included."""
    return _paper_model(tuple((name, KINDS.get(name)) for name in KINDS.names()))


@cache
def _paper_model(kinds: tuple[tuple[str, type], ...]) -> type[Paper]:
    fields = {}
    for name, key, is_table in (("figures", FigureName, False), ("tables", TableName, True)):
        union = reduce(or_, (_named(kind, tag) for tag, kind in kinds if is_table == kind.IS_TABLE))
        model = Annotated[union, Field(discriminator="kind")]
        fields[name] = (dict[key, model], Field(default={}, description=f"the {name}, by name"))
    return create_model("Paper", __base__=Paper, __doc__=Paper.__doc__, **fields)


def _named(kind: type, name: str) -> type:
    """Return the model of a kind that takes entries of this kind alone."""
    field = Field(description=f"kind of the {'table' if kind.IS_TABLE else 'figure'}, and of its notebook template")
    return create_model(kind.__name__, __base__=kind, __doc__=kind.__doc__, kind=(Literal[name], field))


def schemas() -> dict[str, dict[str, object]]:
    """Return the JSON schemas of the configuration files, by the name of the schema's file."""
    main = MainConfig.model_json_schema() | {"required": ["scale"]}  # an overlay leaves the papers to config.yaml
    return {"config.schema.json": main, "paper.schema.json": paper_model().model_json_schema()}
