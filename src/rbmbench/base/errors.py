# SPDX-License-Identifier: BSD-3-Clause
"""Errors that a user can fix: the message is one line with the value and the allowed ones."""

import re
from difflib import get_close_matches

MOST_CHARACTERS = 2000
LONGEST_NAME = 100
LEAST_SIMILARITY = 0.5  # of names, from 0 to 1
SYNONYMS = {
    other: ours
    for ours, synonyms in {
        "rate": ("learning_rate", "lr", "step_size", "eta"),
        "hidden": ("n_hidden", "num_hidden", "hidden_units", "n_components"),
        "batch": ("batch_size", "minibatch", "mini_batch"),
        "iterations": ("n_iter", "max_iter", "epochs", "updates"),
        "trials": ("repeats", "repetitions", "runs", "replicas"),
        "seed": ("random_state", "rng"),
        "estimator": ("algorithm", "method"),
        "update": ("optimizer", "optimiser", "update_rule"),
        "precision": ("dtype",),
        "threads": ("n_jobs", "workers", "cores"),
        "backend": ("device",),
        "k": ("steps", "n_steps", "gibbs_steps"),
        "chains": ("n_chains", "num_chains", "n_particles"),
    }.items()
    for other in synonyms
}
"""The names of this package by those that other libraries use for settings and options."""


class RbmbenchError(Exception):
    """Base of errors shown to the user as their message alone (exit code 2, no traceback).

    The message is always one line: control characters become blanks, and very long messages lose their middle.
    """

    def __init__(self, message: object = ""):
        line = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", str(message))
        if len(line) > MOST_CHARACTERS:
            half = MOST_CHARACTERS // 2
            line = f"{line[:half]} ... {line[-half:]}"
        super().__init__(line)


class SettingsError(RbmbenchError):
    """A configuration value or argument that is not allowed."""


class DataError(RbmbenchError):
    """A data file that is missing, damaged, or of unexpected content."""


class ResultsError(RbmbenchError):
    """A result that cannot be read or written."""


class CheckpointError(RbmbenchError):
    """A checkpoint that cannot be read, is damaged, or belongs to another run."""


class DamagedCheckpointError(CheckpointError):
    """A checkpoint whose content was changed after it was written."""


class InUseError(RbmbenchError):
    """A result that another process is computing now."""


class TrainingError(RbmbenchError):
    """A run that cannot continue, for example because its parameters are not finite."""


class StoppedError(RbmbenchError):
    """A run stopped by the signal with number ``signal``; it can be resumed."""

    def __init__(self, message: str, signal: int):
        super().__init__(message)
        self.signal = signal


class RbmbenchWarning(UserWarning):
    """A one-line warning to the user."""


def unknown_name(kind: str, name: str, allowed) -> str:
    """Return the error message for an unknown name of some ``kind`` ("estimator"), with a similar name if there is one.

    For a name of other libraries it is the one used here.
    """
    allowed, name = sorted(allowed), str(name)
    nearest = [SYNONYMS[name]] if SYNONYMS.get(name) in allowed else []
    nearest = nearest or get_close_matches(name[:LONGEST_NAME].lower(), allowed, n=1, cutoff=LEAST_SIMILARITY)
    hint = f"; nearest: {nearest[0]!r}" if nearest else ""
    return f"unknown {kind} {name!r}{hint}; allowed: {', '.join(allowed) or 'none'}"
