# SPDX-License-Identifier: BSD-3-Clause
"""Write a text that may be too long for an argument of a command."""

import sys

from rbmbench.base.errors import RbmbenchError
from rbmbench.io.atomic import replaced

try:
    with replaced(snakemake.output[0]) as temporary:  # noqa: F821
        temporary.write_text(snakemake.params.text, encoding="utf-8")  # noqa: F821
except RbmbenchError as error:
    sys.exit(f"rbmbench: error: {error}")
