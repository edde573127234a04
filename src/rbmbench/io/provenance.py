"""What a result was made with: machine, versions, commit, memory. Plain data for ``meta.json``."""

import os
import platform
import re
import resource
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("rbmbench", "numpy", "numba", "llvmlite", "scipy", "pandas", "pyarrow", "scikit-learn", "snakemake")


def collect() -> dict[str, Any]:
    """Return hardware, versions, commit and peak_memory_mb of this process, and when it started and finished (UTC)."""
    now = datetime.now(UTC)
    return {
        "started": (now - timedelta(seconds=seconds_since_start())).isoformat(timespec="seconds"),
        "finished": now.isoformat(timespec="seconds"),
        "hardware": hardware(),
        "versions": versions(),
        "commit": commit(),
        "peak_memory_mb": round(peak_memory_mb(), 1),
    }


def hardware() -> dict[str, Any]:
    """Return cpu (name), cores (logical), memory_gb, gpu (name or None) and platform."""
    import psutil

    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "gpu": None,
        "platform": platform.platform(terse=True),
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that numbers can depend on, where installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


@cache
def commit() -> str | None:
    """Return the commit of the checkout this package runs from, "+changes" added for uncommitted ones; else None.

    It is looked up once, so that a process which asks at its start gets what it runs, whatever is committed later.
    """
    try:
        head, changes = (_git(command) for command in ("rev-parse HEAD", "status --porcelain --untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{head}+changes" if changes else head


def _git(command: str) -> str:
    done = subprocess.run(
        ["git", *command.split()], cwd=Path(__file__).parent, capture_output=True, text=True, timeout=20, check=True
    )
    return done.stdout.strip()


def peak_memory_mb() -> float:
    """Return the largest resident memory this process has had, in MB of 2**20 bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def seconds_since_start() -> float:
    """Return how long this process has been running: what its imports took is part of that."""
    import psutil

    return max(0.0, time.time() - psutil.Process().create_time())


def _cpu_name() -> str:
    with suppress(OSError):
        if named := re.search(r"^model name\s*:(.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE):
            return named[1].strip()
    return platform.processor() or platform.machine()
