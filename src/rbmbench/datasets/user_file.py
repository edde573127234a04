"""Your own data: a matrix of 0 and 1 from an .npy, .npz or .csv file."""

import hashlib
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path

import numpy as np

from rbmbench.datasets import REGISTRY, Dataset, build
from rbmbench.datasets._options import check_text
from rbmbench.errors import DataError, SettingsError

__all__ = ["UserFile"]


@REGISTRY.register
@dataclass(frozen=True)
class UserFile:
    """Rows of 0 and 1 from a file of yours.

    Parameters
    ----------
    path : str
        An .npy file with one matrix, a .csv file of numbers with commas and no header, or an .npz file.
    key : str
        Name of the training rows in an .npz file. Its arrays "validation" and "test" are taken too, if it has them.
    title : str, optional
        Name for figures and tables; the file's name if not given.
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
            content = path.read_bytes()
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from error
        try:
            parts = _READERS[path.suffix](content, self.key)
        except Exception as error:  # the readers' libraries raise many kinds
            reason = " ".join(str(error).split())
            raise DataError(f"{path}: cannot be read as {path.suffix} ({reason})") from error
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
    return {"train": np.load(BytesIO(content), allow_pickle=False)}


def _from_npz(content: bytes, key: str) -> dict:
    """Return the training array ``key`` of an .npz file, and its validation and test arrays if there are any."""
    with np.load(BytesIO(content), allow_pickle=False) as file:
        if key not in file:
            raise ValueError(f"no array {key!r}; it has {', '.join(file.files)}")
        return {"train": file[key]} | {part: file[part] for part in ("validation", "test") if part in file}


def _from_csv(content: bytes, _key: str) -> dict:
    """Return the numbers of a .csv file."""
    return {"train": np.loadtxt(BytesIO(content), delimiter=",", ndmin=2)}


_READERS = {".npy": _from_npy, ".npz": _from_npz, ".csv": _from_csv}
