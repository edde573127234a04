# SPDX-License-Identifier: BSD-3-Clause
"""Model of ``meta.json``, and a mapping whose errors name the file and the missing key."""

import hashlib
import json
from typing import NoReturn

from pydantic import ConfigDict, Field

from rbmbench.base.errors import ResultsError, SettingsError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import Count, Settings

CHECKSUMS, OWN_CHECKSUM = "sha256", "content_sha256"
"""Keys of the checksums of the other files of the folder, by name, and of the content of meta.json itself."""

STOPPING_TIME = "stopping_time"
"""Key, in the metas of runs with coupled chains, of the mean of their stopping times over trials and iterations."""


class _Part(Settings):
    """Base: keys without a field are ignored, and all fields have defaults."""

    model_config = ConfigDict(frozen=True, extra="allow")


class _Estimator(_Part):
    name: str = ""
    options: dict[str, object] = {}  # noqa: RUF012


class _Stage(_Part):
    estimator: _Estimator = _Estimator()


class _RunSettings(_Part):
    """The settings of a command that other modules read."""

    hidden: Count = 1
    batch: Count = 1
    first_trial: int = 0
    schedule: tuple[_Stage, ...] = ()
    method: str = ""


class _Data(_Part):
    title: str = ""
    rows: Count | dict[str, int] = 1
    visible: Count = 1
    source: str | None = None
    preprocessing: str | None = None
    stand_in_for: str | None = None
    files: tuple[dict[str, str], ...] | None = None


class _Hardware(_Part):
    cpu: str | None = None
    gpu: str | None = None
    cores: Count | None = None
    memory_gb: float = 0.0


class MetaFile(_Part):
    """The parts of ``meta.json`` that reports and later steps read."""

    run: str = ""
    settings: _RunSettings = _RunSettings()
    data: _Data = _Data()
    hardware: _Hardware = _Hardware()
    versions: dict[str, str] = {}  # noqa: RUF012
    commit: str | None = None
    code: str | None = None
    plugins: tuple[dict[str, str], ...] = ()
    wall: dict[str, float] = {}  # noqa: RUF012
    backend: str = ""
    threads: Count = 1
    iterations: Count = 1
    trials: Count = 1
    stopping_time: float | None = Field(default=None, allow_inf_nan=False)
    peak_memory_mb: float = Field(default=0.0, allow_inf_nan=False)
    grids: dict[str, tuple[dict[str, object], ...]] = {}  # noqa: RUF012
    seconds_per_sample: dict[str, tuple[float | None, ...]] = {}  # noqa: RUF012
    sha256: dict[str, str] = {}  # noqa: RUF012
    content_sha256: str = ""


class Meta(dict):
    """A mapping that raises a `ResultsError` naming file and key where a key is missing."""

    def __init__(self, values: dict[str, object], path: str, keys: tuple[str, ...] = ()):
        super().__init__(values)
        self._path, self._keys = path, keys
        for key, value in values.items():
            self[key] = self._wrapped(value, (*keys, key))

    def _wrapped(self, value: object, keys: tuple[str, ...]) -> object:
        if isinstance(value, list):
            return [self._wrapped(entry, (*keys, str(number))) for number, entry in enumerate(value)]
        return Meta(value, self._path, keys) if isinstance(value, dict) else value

    def __missing__(self, key: str) -> NoReturn:
        name = ".".join((*self._keys, key))
        raise ResultsError(f"{self._path}: key {name!r} is missing, got {', '.join(sorted(self)) or 'nothing'}")


SAME_AS = "same_as"
"""Key of kept metas equal to those of another figure or table: its key; `OWN_CHECKSUM` is that of its metas."""


def content_checksum(values: dict[str, object]) -> str:
    """Return the sha256 of the values of a ``meta.json`` except its own checksum; text layout does not matter."""
    plain = json.loads(json.dumps({key: value for key, value in values.items() if key != OWN_CHECKSUM}))
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def checked_meta(values: object, path: str) -> Meta:
    """Return the mapping of a ``meta.json``; `ResultsError` if a value is not allowed, or the checksum is wrong."""
    if not isinstance(values, dict):
        raise ResultsError(f"{path}: holds a {type(values).__name__}, not a mapping")
    try:
        parse(MetaFile, values, path)
    except SettingsError as error:
        raise ResultsError(str(error)) from None
    # Older ones have neither key.
    if {CHECKSUMS, OWN_CHECKSUM} & values.keys() and values.get(OWN_CHECKSUM) != content_checksum(values):
        raise ResultsError(f"{path}: was changed after it was written (wrong checksum of its content)")
    return Meta(values, path)
