"""Checkpoints of training: one npz file, replaced whole, that goes on bit for bit and refuses other settings."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rbmbench.errors import CheckpointError
from rbmbench.files import replaced
from rbmbench.reading import npz_arrays, plain_json

__all__ = ["Checkpoint", "load_checkpoint", "save_checkpoint"]

GROUPS = ("parameters", "state", "memory", "curve", "snapshots")


class Checkpoint(NamedTuple):
    """Everything a run needs to go on.

    ``parameters``, ``state`` (the estimator's) and ``memory`` (the update rule's) are named arrays with a leading axis
    of replicas, ``iteration`` counts finished iterations, ``draw`` is the training stream's next number, ``curve`` the
    tidy columns so far, ``snapshots`` the parameters kept for a later evaluation, ``seconds`` the time spent by kind.
    """

    parameters: dict[str, np.ndarray]
    state: dict[str, np.ndarray]
    memory: dict[str, np.ndarray]
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
    CheckpointError
        If the file is damaged or belongs to another run.
    """
    try:
        arrays = npz_arrays(path)
        header: dict[str, Any] = plain_json(str(arrays.pop("header")))
        if header["arrays"] != sorted(arrays):
            raise ValueError(f"found the arrays {sorted(arrays)}, wrote {header['arrays']}")
        groups: dict[str, dict[str, np.ndarray]] = {group: {} for group in GROUPS}
        for key, array in arrays.items():
            group, _, name = key.partition(".")
            groups[group][name] = array
        checkpoint = Checkpoint(
            **groups, iteration=int(header["iteration"]), draw=int(header["draw"]), seconds=dict(header["seconds"])
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: damaged checkpoint ({error}); delete it to start the run anew") from None
    if header.get("identity") != identity:
        raise CheckpointError(
            f"{path}: checkpoint of other settings or data, found {header.get('identity')!r}, allowed {identity!r}; "
            "delete it to start the run anew"
        )
    return checkpoint
