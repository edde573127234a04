# SPDX-License-Identifier: BSD-3-Clause
"""A user's own data: rows of 0 and 1 from a file."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from rbmbench.base.errors import DataError
from rbmbench.datasets import REGISTRY, Dataset
from rbmbench.datasets._own_files import ENDINGS, LIBSVM, binary, chosen, ending, read_content, rows_of
from rbmbench.datasets._recipe import Recipe, number, text, whole_number
from rbmbench.io.guard import UnreadableError


def _texts(value: Any, _recipe: Any) -> tuple[bool, str]:
    """Check names of columns."""
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value), "a list of texts"


def may_lack_features(path: str | PathLike) -> bool:
    """Return whether the last features may be in no row of a file, as in .libsvm files."""
    return ending(path) in LIBSVM


@REGISTRY.register
@dataclass(frozen=True)
class UserFile(Recipe):
    """Rows of 0 and 1 from a user's file.

    Parameters
    ----------
    path : str
        A text of numbers with or without a header, separated by commas, semicolons, tabs or blanks (.csv, .tsv, .txt,
        .dat, .data, .amat); a .libsvm, .parquet, .npy or .npz file; or one of these with .gz.
    key : str, optional
        Name of the training rows in an .npz file: by default "train", or its only array. Its arrays "validation" and
        "test" are used as well, if present.
    title : str, optional
        Name for figures and tables. The default is the file's name.
    drop_columns : list of str
        Columns that are left out, such as labels: by name, or by number from 1 where they have no names.
    threshold : float, optional
        Larger numbers are 1, others 0. The default allows 0 and 1 alone.
    features : int, optional
        Number of features of a .libsvm file. The default is the largest that occurs, so a test set may need it.
    """

    path: Annotated[str, text] = ""
    key: Annotated[str | None, text] = None
    title: Annotated[str | None, text] = None
    drop_columns: Annotated[tuple[str, ...], _texts] = ()
    threshold: Annotated[float | None, number(-1e300, 1e300)] = None
    features: Annotated[int | None, whole_number(1, 2**31 - 1)] = None

    def __post_init__(self):
        super().__post_init__()
        if ending(self.path) not in ENDINGS:
            raise self.refused("path", f"{', '.join(ENDINGS)} files, or these with .gz")

    @property
    def own_file(self) -> str:
        """The user's file."""
        return self.path

    def load(self, _sources=None) -> Dataset:
        """Return the data set."""
        return self.read()

    def read(self, columns: Sequence[str] = (), sparse: bool = False) -> Dataset:
        """Return the data set; for the arguments see `rbmbench.datasets.read_file`."""
        path = Path(self.path)
        try:
            content = read_content(path)
        except (OSError, UnreadableError) as error:
            raise DataError(f"{path}: cannot be read ({getattr(error, 'strerror', error)})") from error
        try:
            rows = rows_of(content, path, self.key, self.features)
            dropped = self.drop_columns
            if columns and rows["train"].named:
                absent = {*rows["train"].table.columns} - {*columns}  # without being dropped
                dropped = tuple(name for name in dropped if name not in absent)
                rows = {part: chosen(rows[part], columns) for part in rows}
            parts = {part: binary(rows[part], dropped, self.threshold, sparse) for part in rows}
            named = rows["train"].table.columns if rows["train"].named else ()
        except UnreadableError as error:
            raise DataError(f"{path}: cannot be read as {ending(path)} ({error})") from error
        try:
            return self.build(
                self.title or path.name.partition(".")[0],
                **parts,
                source="a file of the user's own",
                preprocessing="none",
                columns=[str(name) for name in named if name not in self.drop_columns],
                files=[{"name": path.name, "sha256": hashlib.sha256(content).hexdigest(), "from": "user"}],
            )
        except DataError as error:
            raise DataError(f"{path}: {error}") from None
