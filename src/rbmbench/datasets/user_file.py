"""A user's own data: a matrix of 0 and 1 from an .npy, .npz or .csv file."""

import hashlib
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path

import numpy as np

from rbmbench.base.errors import DataError, SettingsError
from rbmbench.datasets import REGISTRY, Dataset, build
from rbmbench.datasets._options import check_text
from rbmbench.io.arrays import npy_array, npz_arrays, text_array
from rbmbench.io.guard import UnreadableError, bounded_bytes


@REGISTRY.register
@dataclass(frozen=True)
class UserFile:
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

    path: str = ""
    key: str = "train"
    title: str | None = None

    def __post_init__(self):
        for option in ("path", "key"):
            check_text("user_file", option, getattr(self, option))
        if self.title is not None:
            check_text("user_file", "title", self.title)
        if Path(self.path).suffix not in _READERS:
            allowed = ", ".join(_READERS)
            raise SettingsError(f"data set 'user_file': option 'path': found {self.path!r}; allowed: {allowed} files")

    def load(self, _sources=None) -> Dataset:
        """Return the data set."""
        path = Path(self.path)
        try:
            content = bounded_bytes(path, _MOST_BYTES[path.suffix])
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from error
        except UnreadableError as error:
            raise DataError(f"{path}: cannot be read ({error})") from error
        try:
            parts = _READERS[path.suffix](content, self.key)
        except ValueError as error:
            raise DataError(f"{path}: cannot be read as {path.suffix} ({error})") from error
        return build(
            "user_file",
            self.title or path.stem,
            **parts,
            source="a file of the user's own",
            preprocessing="none",
            files=[{"name": path.name, "sha256": hashlib.sha256(content).hexdigest(), "from": "user"}],
            options=asdict(self),
        )


def _from_npy(content: bytes, _key: str) -> dict:
    """Return the one array of an .npy file."""
    return {"train": npy_array(content)}


def _from_npz(content: bytes, key: str) -> dict:
    """Return the training array ``key`` of an .npz file, and its validation and test arrays if there are any."""
    found = npz_arrays(BytesIO(content))
    if key not in found:
        raise ValueError(f"no array {key!r}; it has {', '.join(found)}")
    return {"train": found[key]} | {part: found[part] for part in ("validation", "test") if part in found}


def _from_csv(content: bytes, _key: str) -> dict:
    """Return the numbers of a .csv file."""
    return {"train": text_array(content, ",", np.float64)}


# The numbers of a .csv file take four times the memory of its text.
_MOST_BYTES = {".npy": 2**30, ".npz": 2**30, ".csv": 2**27}
_READERS = {".npy": _from_npy, ".npz": _from_npz, ".csv": _from_csv}
