"""Errors that a user can fix: the message is one line that says what was found and what is allowed."""

import re
from difflib import get_close_matches

MOST_CHARACTERS = 2000
LONGEST_NAME = 100


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
    """A checkpoint whose content differs from what was written."""


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
    """Return the error message for an unknown name of some ``kind`` ("estimator"), with the nearest allowed name."""
    allowed = sorted(allowed)
    nearest = get_close_matches(str(name)[:LONGEST_NAME], allowed, n=1, cutoff=0.0)
    hint = f"; nearest: {nearest[0]!r}" if nearest else ""
    return f"unknown {kind} {name!r}{hint}; allowed: {', '.join(allowed) or 'none'}"
