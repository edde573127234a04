# SPDX-License-Identifier: BSD-3-Clause
"""Errors of commands on files of users."""


def refused(capsys, code: int) -> str:
    """Return the one-line error of a command, without "rbmbench: error: "."""
    printed = capsys.readouterr().err
    line = printed.splitlines()[-1]
    assert (code, line[:17], "Traceback" in printed) == (2, "rbmbench: error: ", False)
    return line[17:]
