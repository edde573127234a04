"""Checkpoints of training: one npz file, replaced whole, that goes on bit for bit and refuses other settings."""

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

__all__ = ["Checkpoint", "Checkpointer", "load_checkpoint", "owned", "resumed", "save_checkpoint"]

CHECKPOINT_SECONDS = 20.0
GROUPS = ("parameters", "state", "memory", "sums", "curve", "snapshots")
# What a checkpoint that is not whole, or not one, can end in.
UNREADABLE = (OSError, ValueError, KeyError, TypeError)
# Writing checkpoints, which may be large with all their snapshots, takes at most one part in so many of a run's time.
LEAST_PARTS = 50


class Checkpoint(NamedTuple):
    """Everything a run needs to go on.

    ``parameters``, ``state`` (the estimator's), ``memory`` (the update rule's) and ``sums`` (of the diagnostics since
    the last evaluation) are named arrays with a leading axis of replicas, ``iteration`` counts finished iterations,
    ``draw`` is the training stream's next number, ``curve`` the tidy columns so far, ``snapshots`` the parameters kept
    for a later evaluation, ``seconds`` the time spent by kind.
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
    """Write a checkpoint; ``identity`` tells which run it belongs to."""
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

    Raises
    ------
    DamagedCheckpointError
        If its content is not what was written.
    CheckpointError
        If the file cannot be opened, or belongs to another run.
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
            "delete it to start the run anew"
        )
    return checkpoint


def _opened(path: Path) -> BinaryIO | None:
    """Return the open file, or None if there is none: what cannot be opened need not be damaged."""
    try:
        writable(path)
        return open(path, "rb")
    except FileNotFoundError:
        return None
    except ResultsError as error:
        raise CheckpointError(f"{error}; mend that, or delete it to start the run anew") from None
    except OSError as error:
        raise CheckpointError(
            f"{path}: the checkpoint cannot be opened ({error.strerror}); mend that, or delete it to start the run anew"
        ) from None


def _decoded(file: BinaryIO) -> tuple[dict[str, Any], Checkpoint]:
    """Return header and content of an open checkpoint."""
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
    """Return the checkpoint to go on from; None, after a warning, if it is damaged, and moved to ``path``.unreadable.

    Nothing of a damaged checkpoint can be trusted, and what it stands for can be computed again: waiting for a person
    would only cost more time. It is kept for whoever wants to know what has happened; an older one makes room for it.

    Raises
    ------
    CheckpointError
        If the file cannot be opened or moved, or belongs to another run.
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
    """Keep other processes off the checkpoint of a run, from its beginning until the run's outputs are written.

    What killed processes left half-written, of the checkpoint or the outputs, is removed first. When the block ends
    well the checkpoint is removed; after an error it stays. Without a checkpoint nothing is done.

    Raises
    ------
    InUseError
        If another process has it.
    ResultsError
        If nothing can be written there.
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
    """Keeps the checkpoints of one run, now and then; ``saved`` is the one to go on from, if any.

    Those that take long to write are written less often.

    Parameters
    ----------
    path : Path or None
        Where; None keeps nothing.
    identity : str
        What tells the run.
    seconds : float, optional
        Least time between two checkpoints; by default 20. 0 lets all be kept.
    """

    def __init__(self, path: Path | None, identity: str, seconds: float | None = None):
        self.path, self._identity = path, identity
        self._seconds = self._wait = CHECKPOINT_SECONDS if seconds is None else seconds
        self.saved = resumed(path, identity) if path else None
        self.iteration = self.saved.iteration if self.saved else 0
        self._at = monotonic()

    def is_due(self) -> bool:
        """Tell whether the last checkpoint is old enough."""
        return self.path is not None and monotonic() - self._at > self._wait

    def save(self, checkpoint: Checkpoint) -> None:
        """Save a checkpoint."""
        started = monotonic()
        save_checkpoint(self.path, checkpoint, self._identity)
        self.iteration, self._at = checkpoint.iteration, monotonic()
        if self._seconds > 0:
            self._wait = max(self._seconds, LEAST_PARTS * (self._at - started))

    def stopped(self, where: str, signal: int) -> StoppedError:
        """Return the error of a computation that a signal has stopped, which says whether it can go on."""
        there = self.path is not None and self.path.exists()
        saved = f"the same command goes on from {self.path}" if there else "nothing is saved"
        return StoppedError(f"stopped at {where}; {saved}", signal)
