# SPDX-License-Identifier: BSD-3-Clause
"""The logger plugin of rbmbench, under the name by which Snakemake finds plugins: ``snakemake --logger rbmbench``."""

from rbmbench.cli.snakemake_logger import LogHandler, LogHandlerSettings

__all__ = ["LogHandler", "LogHandlerSettings"]
