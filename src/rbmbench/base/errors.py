"""Errors a user can mend: each carries one line that says what was found and what is allowed."""

import re
from difflib import get_close_matches

__all__ = [
    "CheckpointError",
    "DamagedCheckpointError",
    "DataError",
    "InUseError",
    "RbmbenchError",
    "RbmbenchWarning",
    "ResultsError",
    "SettingsError",
    "StoppedError",
    "TrainingError",
    "unknown_name",
]


MOST_CHARACTERS = 2000
LONGEST_NAME = 100


class RbmbenchError(Exception):
    """Base of all errors whose message alone is shown to the user (exit code 2, no traceback).

    The message is one line, whatever the names and values in it hold: control characters become blanks, and the middle
    of a very long one is left out.
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
    """A data file that is missing, damaged, or not what it should be."""


class ResultsError(RbmbenchError):
    """A result that cannot be read or written."""


class CheckpointError(RbmbenchError):
    """A checkpoint that cannot be read, is damaged, or belongs to other settings."""


class DamagedCheckpointError(CheckpointError):
    """A checkpoint whose content is not what was written."""


class InUseError(RbmbenchError):
    """Something that another process is computing now."""


class TrainingError(RbmbenchError):
    """A run that cannot go on, for example because its parameters are no longer finite."""


class StoppedError(RbmbenchError):
    """A run that a signal has stopped, and that can go on; ``signal`` is its number."""

    def __init__(self, message: str, signal: int):
        super().__init__(message)
        self.signal = signal


class RbmbenchWarning(UserWarning):
    """Something a user should know, in one line, that ends nothing."""


def unknown_name(kind: str, name: str, allowed) -> str:
    """Return the line for a name that is not among the allowed ones, with the nearest of them.

    Parameters
    ----------
    kind : str
        What is named, in words: "estimator", "data set", ...
    name : str
        The name that was found.
    allowed : iterable of str
        The names that are allowed.
    """
    allowed = sorted(allowed)
    nearest = get_close_matches(str(name)[:LONGEST_NAME], allowed, n=1, cutoff=0.0)
    hint = f"; nearest: {nearest[0]!r}" if nearest else ""
    return f"unknown {kind} {name!r}{hint}; allowed: {', '.join(allowed) or 'none'}"
