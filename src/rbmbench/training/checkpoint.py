"""Checkpoints: one npz file, replaced atomically, from which a run resumes bit for bit."""

import json
import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from rbmbench.base.errors import CheckpointError, DamagedCheckpointError, RbmbenchWarning, ResultsError, StoppedError
from rbmbench.io.arrays import npz_arrays
from rbmbench.io.atomic import remove, remove_leftovers, replaced, writable
from rbmbench.io.locks import locked
from rbmbench.io.text import plain_json

CHECKPOINT_SECONDS = 20.0
GROUPS = ("parameters", "state", "memory", "sums", "curve", "snapshots")
UNREADABLE = (OSError, ValueError, KeyError, TypeError)  # errors when reading a damaged checkpoint
LEAST_PARTS = 50  # writing checkpoints takes at most this fraction, 1 / LEAST_PARTS, of the time of a run


class Checkpoint(NamedTuple):
    """The state of an interrupted run.

    ``parameters``, ``state`` (of the estimator), ``memory`` (of the update rule) and ``sums`` (of the diagnostics since
    the last evaluation) are dicts of arrays with a leading axis of replicas. ``iteration`` is the number of finished
    iterations, ``draw`` the number of the next draw of the training stream, ``curve`` the tidy columns so far,
    ``snapshots`` the parameters for a later evaluation, and ``seconds`` the time spent by kind.
    """

    parameters: dict[str, np.ndarray]
    state: dict[str, np.ndarray]
    memory: dict[str, np.ndarray]
    sums: dict[str, np.ndarray]
    iteration: int
    draw: int
    curve: dict[str, np.ndarray]
    seconds: dict[str, float]
    snapshots: dict[str, np.ndarray]


def save_checkpoint(path: Path, checkpoint: Checkpoint, identity: str) -> None:
    """Write a checkpoint; ``identity`` identifies its run."""
    header = {
        "identity": identity,
        "iteration": checkpoint.iteration,
        "draw": checkpoint.draw,
        "seconds": checkpoint.seconds,
    }
    arrays = {f"{group}.{name}": array for group in GROUPS for name, array in getattr(checkpoint, group).items()}
    arrays["header"] = np.array(json.dumps(header | {"arrays": sorted(arrays)}))
    with replaced(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, **arrays)


def load_checkpoint(path: Path, identity: str) -> Checkpoint | None:
    """Return the checkpoint at ``path``, or None if there is no such file.

    Raises a `DamagedCheckpointError` if its content is damaged, a `CheckpointError` if the file cannot be opened or
    belongs to another run.
    """
    file = _opened(path)
    if file is None:
        return None
    try:
        with file:
            header, checkpoint = _decoded(file)
    except UNREADABLE as error:
        raise DamagedCheckpointError(f"{path}: damaged checkpoint ({error})") from None
    if header.get("identity") != identity:
        raise CheckpointError(
            f"{path}: checkpoint of other settings or data, found {header.get('identity')!r}, allowed {identity!r}; "
            "delete it to restart the run"
        )
    return checkpoint


def _opened(path: Path) -> BinaryIO | None:
    """Return the open file, or None if it does not exist. A file that cannot be opened is not treated as damaged."""
    try:
        writable(path)
        return open(path, "rb")
    except FileNotFoundError:
        return None
    except ResultsError as error:
        raise CheckpointError(f"{error}; fix that, or delete it to restart the run") from None
    except OSError as error:
        raise CheckpointError(
            f"{path}: the checkpoint cannot be opened ({error.strerror}); fix that, or delete it to restart the run"
        ) from None


def _decoded(file: BinaryIO) -> tuple[dict[str, Any], Checkpoint]:
    arrays = npz_arrays(file)
    header: dict[str, Any] = plain_json(str(arrays.pop("header")))
    if header["arrays"] != sorted(arrays):
        raise ValueError(f"found the arrays {sorted(arrays)}, wrote {header['arrays']}")
    groups: dict[str, dict[str, np.ndarray]] = {group: {} for group in GROUPS}
    for key, array in arrays.items():
        group, _, name = key.partition(".")
        groups[group][name] = array
    return header, Checkpoint(
        **groups, iteration=int(header["iteration"]), draw=int(header["draw"]), seconds=dict(header["seconds"])
    )


def resumed(path: Path, identity: str) -> Checkpoint | None:
    """Return the checkpoint to resume from, or None if there is none.

    A damaged checkpoint is moved to ``path``.unreadable (replacing an older one) with a warning, and the run starts
    from the beginning. Raises a `CheckpointError` if the file cannot be opened or moved, or belongs to another run.
    """
    try:
        return load_checkpoint(path, identity)
    except DamagedCheckpointError as error:
        aside = path.with_name(f"{path.name}.unreadable")
        try:
            os.replace(path, writable(aside))
        except ResultsError as failure:
            raise CheckpointError(f"{error}; it cannot be moved aside: {failure}") from None
        except OSError as failure:
            raise CheckpointError(f"{error}; it cannot be moved to {aside} ({failure.strerror}); delete it") from None
        text = f"{error}; moved to {aside.name}, the run starts from the beginning"
        warnings.warn(text, RbmbenchWarning, stacklevel=2)
        return None


@contextmanager
def owned(path: Path | None, outputs: Iterable[Path] = ()) -> Iterator[None]:
    """Lock the checkpoint of a run until its outputs are written; do nothing if ``path`` is None.

    Incomplete files of killed processes, of the checkpoint and the outputs, are removed first. The checkpoint is
    removed at the end of the block, unless an error was raised. Raises an `InUseError` if another process has locked
    it, a `ResultsError` if the folder is not writable.
    """
    if path is None:
        yield
        return
    with locked(path):
        for file in (path, *outputs):
            remove_leftovers(file)
        yield
        remove(path)


class Checkpointer:
    """Periodic checkpoints of one run; ``saved`` is the checkpoint to resume from, or None.

    Without a path there are none. ``identity`` identifies the run; ``seconds`` is the minimal time between two
    checkpoints, by default 20, or 0 for no limit. Checkpoints that take long to write are written less often.
    """

    def __init__(self, path: Path | None, identity: str, seconds: float | None = None):
        self.path, self._identity = path, identity
        self._seconds = self._wait = CHECKPOINT_SECONDS if seconds is None else seconds
        self.saved = resumed(path, identity) if path else None
        self.iteration = self.saved.iteration if self.saved else 0
        self._at = monotonic()

    def is_due(self) -> bool:
        """Return whether it is time for the next checkpoint."""
        return self.path is not None and monotonic() - self._at > self._wait

    def save(self, checkpoint: Checkpoint) -> None:
        """Save a checkpoint."""
        started = monotonic()
        save_checkpoint(self.path, checkpoint, self._identity)
        self.iteration, self._at = checkpoint.iteration, monotonic()
        if self._seconds > 0:
            self._wait = max(self._seconds, LEAST_PARTS * (self._at - started))

    def stopped(self, where: str, signal: int) -> StoppedError:
        """Return the error of a computation stopped by a signal, which says whether it can be resumed."""
        exists = self.path is not None and self.path.exists()
        saved = f"run the same command again to resume from {self.path}" if exists else "nothing is saved"
        return StoppedError(f"stopped at {where}; {saved}", signal)
