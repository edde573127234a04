"""Read what a figure or a table is made from: the JSON files that the workflow writes.

Folders in such a file are relative to the working directory or, when they are not found there, to the folder that holds
``results/SCALE/specs/KEY.json``, so that a notebook opened from its own folder finds them too.
"""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from rbmbench.base.errors import SettingsError, unknown_name
from rbmbench.base.parsing import parse
from rbmbench.base.settings import Settings
from rbmbench.io.results import read_json
from rbmbench.reporting.specs import (
    CouplingTimesSpec,
    FigureSpec,
    IslCurvesSpec,
    RunTimesSpec,
    SampleSheetsSpec,
    TableSpec,
)

__all__ = ["FIGURES", "TABLES", "read_spec", "read_values", "rooted"]

FIGURES = {
    "learning_curves": FigureSpec,
    "coupling_times": CouplingTimesSpec,
    "isl_curves": IslCurvesSpec,
    "sample_sheets": SampleSheetsSpec,
}
TABLES = {"bias_variance": TableSpec, "run_times": RunTimesSpec}


def read_values(path: str | PathLike, models: Mapping[str, type[Settings]]) -> dict[str, Any]:
    """Return the spec of a figure or a table as plain data, once it is checked against the model of its kind.

    Raises
    ------
    ResultsError
        If the file is missing or is not JSON.
    SettingsError
        If a key is missing or its value is not what it should be.
    """
    values = read_json(path)
    if not isinstance(values, dict):
        raise SettingsError(f"{path}: holds a {type(values).__name__}; should be a mapping of keys")
    kind = values.get("kind")
    if not isinstance(kind, str) or kind not in models:
        raise SettingsError(f"{path}: {unknown_name('kind', kind, models)}")
    parse(models[kind], values, str(path))
    return values


def rooted(values: Any, root: Path) -> Any:
    """Return plain data with every relative folder or file that does not exist here put below ``root``."""
    if isinstance(values, dict):
        return {
            key: str(root / value)
            if key in ("folder", "model", "data_file") and isinstance(value, str) and not Path(value).exists()
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
