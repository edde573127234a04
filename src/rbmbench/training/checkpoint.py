# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints: one npz file, replaced atomically, from which a computation resumes bit for bit.

A computation in pieces uses `Checkpointer.pieces`: the remaining pieces, with a pause before each. Training and
annealing, whose pieces follow the clock, call `Checkpointer.pause` themselves.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, perf_counter, process_time
from typing import Any, BinaryIO, TypeVar

import numpy as np

from rbmbench.base.errors import CheckpointError, DamagedCheckpointError, RbmbenchWarning, ResultsError, StoppedError
from rbmbench.base.pace import Stopping
from rbmbench.base.settings import Settings
from rbmbench.io.arrays import npz_arrays
from rbmbench.io.atomic import remove, remove_leftovers, replaced, writable
from rbmbench.io.guard import UnreadableError, regular_file
from rbmbench.io.locks import locked
from rbmbench.io.text import plain_json

CHECKPOINT_SECONDS = 20.0
UNREADABLE = (OSError, ValueError, KeyError, TypeError)  # errors when reading a damaged checkpoint
LEAST_PARTS = 50  # writing checkpoints takes at most this fraction, 1 / LEAST_PARTS, of the time of a run

Piece = TypeVar("Piece")
State = dict[str, Any]
"""State of a computation, by name: arrays, mappings of names to arrays, and plain data that JSON can hold."""


def identity(settings: Settings, contents: Mapping[str, object]) -> str:
    """Return the identity of a computation in its checkpoints, from its settings and input arrays.

    ``contents`` has every array that results depend on: the data, the models. Names of files and folders do not count.
    """
    digest = hashlib.sha256()
    for name, array in sorted(contents.items()):
        array = np.ascontiguousarray(array)
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode() + array.tobytes())
    return f"{settings.digest()}-{digest.hexdigest()[:20]}"


def save_checkpoint(path: Path, state: State, identity: str) -> None:
    """Write a checkpoint; ``identity`` identifies its computation."""
    groups = {
        name: value
        for name, value in state.items()
        if isinstance(value, dict) and all(isinstance(array, np.ndarray) for array in value.values())
    }
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in state.items() if name not in groups and name not in arrays}
    arrays |= {f"{group}.{name}": array for group, value in groups.items() for name, array in value.items()}
    header = {"identity": identity, "groups": list(groups), "arrays": sorted(arrays), "plain": plain}
    with replaced(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, **arrays, header=np.array(json.dumps(header)))


def load_checkpoint(path: Path, identity: str) -> State | None:
    """Return the state in the checkpoint at ``path``, or None if there is no such file.

    Raises a `DamagedCheckpointError` if its content is damaged, a `CheckpointError` if the file cannot be opened or
    belongs to another computation.
    """
    try:
        writable(path)
        file = regular_file(path)
    except FileNotFoundError:
        return None
    except (OSError, UnreadableError, ResultsError) as error:  # its content may be intact
        reason = f"{path}: the checkpoint cannot be opened ({getattr(error, 'strerror', error)})"
        reason = error if isinstance(error, ResultsError) else reason
        raise CheckpointError(f"{reason}; fix that, or delete it to restart the run") from None
    try:
        with file:
            header, state = _decoded(file)
    except UNREADABLE as error:
        raise DamagedCheckpointError(f"{path}: damaged checkpoint ({error})") from None
    if header.get("identity") != identity:
        raise CheckpointError(
            f"{path}: checkpoint must be of these settings, data and models, "
            f"{identity!r}, got {header.get('identity')!r}; delete it to restart the run"
        )
    return state


def _decoded(file: BinaryIO) -> tuple[dict[str, Any], State]:
    arrays = npz_arrays(file)
    header: dict[str, Any] = plain_json(str(arrays.pop("header")))
    if header["arrays"] != sorted(arrays):
        raise ValueError(f"must have the arrays {header['arrays']}, got {sorted(arrays)}")
    state: State = dict(header["plain"]) | {group: {} for group in header["groups"]}
    for key, array in arrays.items():
        group, _, name = key.partition(".")
        if group in header["groups"]:
            state[group][name] = array
        else:
            state[key] = array
    return header, state


def resumed(path: Path, identity: str) -> State | None:
    """Return the state to resume from, or None if there is no checkpoint.

    A damaged checkpoint is moved to ``path``.unreadable (replacing an older one) with a warning, and the run starts
    from the beginning. Raises a `CheckpointError` if the file cannot be opened or moved, or belongs to another
    computation.
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
    """Lock the checkpoint of a job until its outputs are written; do nothing if ``path`` is None.

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
    """Periodic checkpoints of one computation, which a signal may stop.

    Parameters
    ----------
    path : Path, optional
        File of the checkpoint; without it nothing is saved.
    seconds : float, optional
        Minimal time between two checkpoints, by default 20, or 0 for no limit. Checkpoints that take long to write are
        written less often.
    stopping : callable, optional
        Returns the number of a signal to stop, or None.
    """

    def __init__(self, path: Path | None = None, seconds: float | None = None, stopping: Stopping | None = None):
        self.path, self._stopping, self._identity = path, stopping, ""
        self._seconds = self._wait = CHECKPOINT_SECONDS if seconds is None else seconds
        self._finished, self._before = 0, (0.0, 0.0)
        self._at, self._clocks = monotonic(), (perf_counter(), process_time())

    def resume(self, identity: str) -> State | None:
        """Return the state to resume from, or None; later checkpoints have this identity. See also `resumed`."""
        self._identity = identity
        state = resumed(self.path, identity) if self.path else None
        if state:
            self._finished, self._before = state.pop("pieces", 0), tuple(state.pop("spent"))
        self._at, self._clocks = monotonic(), (perf_counter(), process_time())
        return state

    @property
    def earlier(self) -> float:
        """Wall-clock seconds of interrupted computations that this one continues."""
        return self._before[0]

    def spent(self) -> tuple[float, float]:
        """Return wall-clock and processor seconds since the computation began, those of interrupted ones included."""
        since = perf_counter() - self._clocks[0], process_time() - self._clocks[1]
        return self._before[0] + since[0], self._before[1] + since[1]

    def pieces(self, pieces: Sequence[Piece], state: Callable[[], State]) -> Iterator[Piece]:
        """Yield the pieces of a computation that are not finished yet, with a pause after each but the last.

        ``state`` returns the results of the finished pieces and the positions of random streams; the number of
        finished pieces is added. The pieces must not depend on when the computation was interrupted.
        """
        for number in range(self._finished, len(pieces)):
            if number > self._finished:
                self.pause(f"part {number} of {len(pieces)}", lambda number=number: state() | {"pieces": number})
            yield pieces[number]

    def pause(self, where: str, state: Callable[[], State] | None) -> None:
        """Save the state if a checkpoint is due or there is a signal to stop; raise a `StoppedError` for a signal.

        ``where`` is named by the error; ``state`` is None if everything is saved already.
        """
        signal = self._stopping() if self._stopping else None
        if state and (self.is_due() or (signal and self.path)):
            self.save(state())
        if signal:
            exists = self.path is not None and self.path.exists()
            saved = f"run the same command again to resume from {self.path}" if exists else "nothing is saved"
            raise StoppedError(f"stopped at {where}; {saved}", signal)

    def is_due(self) -> bool:
        """Return whether the next checkpoint is due."""
        return self.path is not None and monotonic() - self._at > self._wait

    def save(self, state: State) -> None:
        """Save a checkpoint."""
        started = monotonic()
        save_checkpoint(self.path, state | {"spent": self.spent()}, self._identity)
        self._at = monotonic()
        if self._seconds > 0:
            self._wait = max(self._seconds, LEAST_PARTS * (self._at - started))
