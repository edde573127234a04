"""What a figure or a table is made of: checked plain data, read from the JSON files that the workflow writes.

Folders in such a file are relative to the working directory or, when they are not found there, to the folder that holds
``results/SCALE/specs/KEY.json``, so that a notebook opened from its own folder finds them too.
"""

import re
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field

from rbmbench.settings import Settings, parse
from rbmbench.store import read_json

__all__ = ["Estimate", "FigureSpec", "Panel", "Published", "Row", "Run", "TableSpec", "read_spec", "rooted"]


class Spec(Settings):
    """Base of all specs: frozen; keys that are of no use here are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Run(Spec):
    """One curve of a panel: an algorithm and the folder of its run."""

    algorithm: str
    label: str
    folder: str


class Panel(Spec):
    """One panel of a figure. What is cut below the paper's budget is told by the pairs of numbers."""

    name: str
    data: str
    hidden: int
    rate: float
    iterations: int
    paper_iterations: int | None = None
    trials: int
    paper_trials: int | None = None
    annealing: dict[str, int] | None = Field(
        default=None, description="particles and temperatures; null: log Z is exact"
    )
    paper_annealing: dict[str, int] | None = None
    runs: tuple[Run, ...]


class Estimate(Spec):
    """One estimator of a row of the table of bias and variance."""

    algorithm: str
    label: str
    k: int | None = None
    folder: str


class Row(Spec):
    """One trained model, or several of the same settings, and what was measured on it."""

    name: str
    data: str
    hidden: int
    rate: float
    model: str = Field(description="folder of the run that trained the models")
    paper_iterations: int | None = None
    paper_estimates: int | None = None
    ground_truth: dict[str, int] = Field(default={}, description="chains, burn_in and samples of parallel tempering")
    paper_ground_truth: dict[str, int] | None = None
    estimates: tuple[Estimate, ...]


class Published(Spec):
    """The paper's numbers of one table, and the budgets behind them."""

    estimates: int | None = None
    iterations: dict[str, int] = Field(default={}, description="of the training of each row's model")
    entries: tuple[dict[str, Any], ...] = ()

    def value(self, row: str, algorithm: str, quantity: str) -> float | None:
        """Return the published number, or None where the paper gives none."""
        for entry in self.entries:
            if (entry.get("row"), entry.get("algorithm")) == (row, algorithm):
                return entry.get(quantity)
        return None


class _Rendered(Spec):
    """What figures and tables have in common."""

    key: str
    paper: str
    title: str
    kind: str
    scale: str

    @property
    def number(self) -> str:
        """The paper's own name of it: "Figure 1" for the key ``popcd_fig1``."""
        kind, number = re.search(r"_(fig|table)(\w+)$", self.key).groups()
        return f"{'Figure' if kind == 'fig' else 'Table'} {number}"


class FigureSpec(_Rendered):
    """A figure of learning curves."""

    key: str = Field(pattern=r"_fig\w+$")
    panels: tuple[Panel, ...]


class TableSpec(_Rendered):
    """A table of bias and variance."""

    key: str = Field(pattern=r"_table\w+$")
    rows: tuple[Row, ...]
    published: Published = Published()


def rooted(values: Any, root: Path) -> Any:
    """Return plain data with every relative folder that does not exist here put below ``root``."""
    if isinstance(values, dict):
        return {
            key: str(root / value)
            if key in ("folder", "model") and isinstance(value, str) and not Path(value).exists()
            else rooted(value, root)
            for key, value in values.items()
        }
    return [rooted(value, root) for value in values] if isinstance(values, list) else values


def read_spec(path: str | PathLike, model: type[Settings]) -> Any:
    """Return the spec of a figure or a table.

    Parameters
    ----------
    path : path
        ``results/SCALE/specs/KEY.json``.
    model : type
        FigureSpec, TableSpec, or another model of the same kind.

    Raises
    ------
    ResultsError
        If the file is missing or is not JSON.
    SettingsError
        If a key is missing or its value is not what it should be.
    """
    where = Path(path).resolve()
    root = where.parents[min(3, len(where.parents) - 1)]
    return parse(model, rooted(read_json(path), root), str(path))
