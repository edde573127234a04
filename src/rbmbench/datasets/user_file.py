# SPDX-License-Identifier: BSD-3-Clause
"""A user's own data: a matrix of 0 and 1 from an .npy, .npz or .csv file."""

import hashlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Annotated

import numpy as np

from rbmbench.base.errors import DataError
from rbmbench.datasets import REGISTRY, Dataset
from rbmbench.datasets._recipe import Recipe, text
from rbmbench.io.arrays import npy_array, npz_arrays, text_array
from rbmbench.io.guard import UnreadableError, bounded_bytes, most_array_bytes

MOST_CSV_BYTES = 2**27  # its numbers take four times the memory of its text


@REGISTRY.register
@dataclass(frozen=True)
class UserFile(Recipe):
    """Rows of 0 and 1 from a user's file.

    Parameters
    ----------
    path : str
        An .npy file with one matrix, an .npz file, or a .csv file of numbers without a header.
    key : str
        Name of the training rows in an .npz file. Its arrays "validation" and "test" are used as well, if present.
    title : str, optional
        Name for figures and tables. The default is the file's name.
    """

    path: Annotated[str, text] = ""
    key: Annotated[str, text] = "train"
    title: Annotated[str | None, text] = None

    def __post_init__(self):
        super().__post_init__()
        if Path(self.path).suffix not in _READERS:
            raise self.refused("path", f"{', '.join(_READERS)} files")

    @property
    def own_file(self) -> str:
        """The user's file."""
        return self.path

    def load(self, _sources=None) -> Dataset:
        """Return the data set."""
        path = Path(self.path)
        try:
            most = MOST_CSV_BYTES if path.suffix == ".csv" else most_array_bytes()
            content = bounded_bytes(path, most)
        except (OSError, UnreadableError) as error:
            raise DataError(f"{path}: cannot be read ({getattr(error, 'strerror', error)})") from error
        try:
            parts = _READERS[path.suffix](content, self.key)
        except ValueError as error:
            raise DataError(f"{path}: cannot be read as {path.suffix} ({error})") from error
        return self.build(
            self.title or path.stem,
            **parts,
            source="a file of the user's own",
            preprocessing="none",
            files=[{"name": path.name, "sha256": hashlib.sha256(content).hexdigest(), "from": "user"}],
        )


def _from_npz(content: bytes, key: str) -> dict:
    """Return the training array ``key`` of an .npz file, and its validation and test arrays if there are any."""
    found = npz_arrays(BytesIO(content))
    if key not in found:
        raise ValueError(f"no array {key!r}; it has {', '.join(found)}")
    return {"train": found[key]} | {part: found[part] for part in ("validation", "test") if part in found}


_READERS = {
    ".npy": lambda content, _key: {"train": npy_array(content)},
    ".npz": _from_npz,
    ".csv": lambda content, _key: {"train": text_array(content, ",", np.float64)},
}
