# SPDX-License-Identifier: BSD-3-Clause
"""Provenance of a result as plain data for ``meta.json``: machine, versions, commit, memory."""

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

from rbmbench.base import plugins, sources
from rbmbench.base.machine import usable_cores, usable_memory

_restarted: float | None = None

PACKAGES = (
    *("rbmbench", "numpy", "numba", "llvmlite", "scipy", "pandas", "pyarrow", "scikit-learn", "snakemake"),
    *("cupy-cuda12x", "cupy-cuda13x"),
)


def collect() -> dict[str, object]:
    """Return hardware, versions, commit, plugins and peak_memory_mb of this process, and when it was run (UTC)."""
    now = datetime.now(UTC)
    return {
        "started": (now - timedelta(seconds=seconds_since_start())).isoformat(timespec="seconds"),
        "finished": now.isoformat(timespec="seconds"),
        "hardware": hardware(),
        "versions": versions(),
        "commit": commit(),
        "plugins": plugins.used(),
        "peak_memory_mb": round(peak_memory_mb(), 1),
    }


def hardware() -> dict[str, object]:
    """Return cpu (name), cores and memory_gb (that this process may use), gpu (names or None) and platform."""
    return {
        "cpu": _cpu_name(),
        "cores": usable_cores(),
        "memory_gb": round(usable_memory() / 2**30, 1),
        "gpu": gpu_names(),
        "platform": platform.platform(terse=True),
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that numbers can depend on, where installed."""
    packages = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            packages[package] = metadata.version(package)
    return packages


@cache
def commit() -> str | None:
    """Return the commit that holds this package; None unless its files are part of a repository.

    "+changes" is added if a file of the package differs from the commit, is not in it, or was edited since the import.
    The commit is looked up once: later commits do not change it.
    """
    try:
        if not _git("ls-files", "--", "__init__.py"):
            return None
        head = _git("rev-parse", "HEAD")
        changes = _git("status", "--porcelain", "--untracked-files=all", "--", ".", ":(exclude)*/__pycache__/*")
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{head}+changes" if changes or sources.are_changed() else head


def _git(*command: str) -> str:
    """Return the output of a git command; variables such as GIT_DIR of a surrounding hook are removed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return _output("git", "-C", str(sources.PACKAGE), *command, env=environment)


def _output(*command: str, env: dict[str, str] | None = None) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True, env=env).stdout.strip()


def gpu_names() -> str | None:
    """Return the names of the GPUs that the driver of NVIDIA lists, None without any."""
    try:
        names = _output("nvidia-smi", "--query-gpu=name", "--format=csv,noheader").splitlines()
    except (OSError, subprocess.SubprocessError):
        return None
    return ", ".join(dict.fromkeys(name.strip() for name in names if name.strip())) or None


def peak_memory_mb() -> float:
    """Return the largest resident memory this process has had, in MB of 2**20 bytes."""
    # On Linux ru_maxrss begins with the peak of the process that started this one.
    with suppress(OSError, TypeError):
        return int(re.search(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)[1]) / 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def restart() -> None:
    """Count time, memory and plug-ins from now on: this process begins another computation."""
    global _restarted
    _restarted = time.monotonic()
    plugins.forget_uses()
    with suppress(OSError):  # resets VmHWM, on Linux
        Path("/proc/self/clear_refs").write_text("5")


def seconds_since_start() -> float:
    """Return the seconds since the start of this process, its imports included, or since `restart`."""
    if _restarted is not None:
        return time.monotonic() - _restarted
    # Exact to a hundredth of a second, unlike the time of day at which the process was made.
    with suppress(AttributeError, OSError, ValueError, IndexError):
        ticks = float(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    import psutil

    return max(0.0, time.time() - psutil.Process().create_time())


def _cpu_name() -> str:
    with suppress(OSError):
        if match := re.search(r"^model name\s*:(.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE):
            return match[1].strip()
    return platform.processor() or platform.machine()
