# SPDX-License-Identifier: BSD-3-Clause
"""Interface of the kinds of figures and tables; `rbmbench.kinds` has one file for each.

A kind has two models. `Kind` is the entry of a figure or table in ``config/papers/KEY.yaml``: it checks the entry and
plans jobs. The spec (`rbmbench.planning.specs.Shown`) has the folders of the results: it reads them, computes chart or
table, caption and the evidence of claims. Kinds are looked up by name: nothing below `rbmbench.kinds` imports one.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from pydantic import ConfigDict, Field

from rbmbench.base.settings import Settings
from rbmbench.config.checks import Checks
from rbmbench.config.paper import Paper
from rbmbench.planning.jobs import Output
from rbmbench.planning.runs import Planner
from rbmbench.planning.specs import Shown


class Kind(Settings):
    """Base of the entries of figures and tables in the configuration."""

    model_config = ConfigDict(defer_build=True)  # entries are checked by the model of the paper

    kind: str = Field(description="kind of figure or table, and name of its notebook template")
    title: str = Field(description="title of the figure or table")
    reading: str | None = Field(
        default=None,
        description="where the paper leaves a setting open: difference from the reading of the figure or table of the "
        "same number; null: the published settings",
    )

    IS_TABLE: ClassVar[bool] = False
    SPEC: ClassVar[type[Shown]]  # the model of the spec

    @property
    def parts(self) -> list[tuple[str, str]]:
        """Its panels, contests and rows: ("panel", "a"), ("row", "mnist_16")."""
        return [(noun, name) for noun in ("panel", "contest", "row") for name in getattr(self, f"{noun}s", ())]

    def check(self, checks: Checks, location: tuple) -> None:
        """Refuse settings that cannot be run; ``location`` is that of this figure or table in the paper's file."""

    @abstractmethod
    def plan(self, planner: Planner, key: str) -> Output:
        """Return the output of a key such as popcd_fig1, its jobs added to the plan."""

    def names(self, paper: Paper) -> Iterator[str]:
        """Yield the names of its parts that claims refer to, relative to the figure or table: "a.cd_1" for a curve."""
        return iter(())
