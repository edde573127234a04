# SPDX-License-Identifier: BSD-3-Clause
"""Run the command line as ``python -m rbmbench``."""

import sys

from rbmbench.cli import main

sys.exit(main())
