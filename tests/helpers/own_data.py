# SPDX-License-Identifier: BSD-3-Clause
"""What tests on files of a user share."""


def refused(capsys, code: int) -> str:
    """Return the line, after its beginning, in which a command refused its input."""
    line = capsys.readouterr().err.splitlines()[-1]
    assert (code, line[:17]) == (2, "rbmbench: error: ")
    return line[17:]
