# SPDX-License-Identifier: BSD-3-Clause
"""What tests on files of a user share."""


def refused(capsys, code: int) -> str:
    """Return the line, after its beginning, in which a command refused its input."""
    printed = capsys.readouterr().err
    line = printed.splitlines()[-1]
    assert (code, line[:17], "Traceback" in printed) == (2, "rbmbench: error: ", False)
    return line[17:]
