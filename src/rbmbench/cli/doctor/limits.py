"""What of the machine this process may use: processor affinity, and the limits of Linux control groups.

A batch system or a container gives a process some cores and some memory of the machine and often says so only there.

Source: Linux kernel documentation, admin-guide: cgroup-v2 (cpu.max, memory.max), cgroup-v1 (cpu.cfs_quota_us,
cpu.cfs_period_us, memory.limit_in_bytes).
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Limits", "control_group_limits", "cores_by_affinity", "usable_cores"]

ROOT, MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
UNLIMITED_BYTES = 2**60  # version 1 writes a huge number for no limit


class Limits(NamedTuple):
    """Cores (may be a fraction) and bytes of memory that control groups leave; None where nothing limits them."""

    cores: float | None
    memory_bytes: int | None


def cores_by_affinity() -> int:
    """Return the number of cores that this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # systems that have no affinity
        return os.cpu_count() or 1


def control_group_limits(root: Path = ROOT, membership: Path = MEMBERSHIP) -> Limits:
    """Return the tightest limits of this process's control groups and of those above them.

    Parameters
    ----------
    root : Path
        Where the control groups are mounted.
    membership : Path
        The list of the groups that the process is in; without it nothing is limited.
    """
    try:
        lines = membership.read_text(encoding="utf-8").splitlines()
    except OSError:
        return Limits(None, None)
    cores, memory = [], []
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        for folder in _folders(root, controllers, group):
            cores += _quota(folder)
            memory += [number for name in ("memory.max", "memory.limit_in_bytes") for number in _number(folder / name)]
    memory = [number for number in memory if number < UNLIMITED_BYTES]
    return Limits(min(cores, default=None), min(memory, default=None))


def usable_cores() -> float:
    """Return how many cores this process may use at a time, by affinity and control groups: may be a fraction."""
    quota = control_group_limits().cores
    return min(cores_by_affinity(), quota or float("inf"))


def _folders(root: Path, controllers: str, group: str) -> Iterator[Path]:
    """Yield the folder of a group and of all above it; a container may not show the lower ones."""
    tops = [root] if not controllers else [root / name for name in (controllers, *controllers.split(","))]
    for top in tops:
        parts = [part for part in group.split("/") if part not in ("", "..")]
        yield from (top.joinpath(*parts[:depth]) for depth in range(len(parts), -1, -1))


def _quota(folder: Path) -> list[float]:
    """Return the cores that a group may use at a time, as a list of one; empty where it has no limit."""
    try:
        if (folder / "cpu.max").is_file():
            quota, period = (folder / "cpu.max").read_text(encoding="utf-8").split()
        else:
            names = "cpu.cfs_quota_us", "cpu.cfs_period_us"
            quota, period = ((folder / name).read_text(encoding="utf-8").strip() for name in names)
        return [int(quota) / int(period)] if int(quota) > 0 else []
    except (OSError, ValueError):
        return []


def _number(file: Path) -> list[int]:
    """Return the number in a file, as a list of one; empty where there is none."""
    try:
        return [int(file.read_text(encoding="utf-8"))]
    except (OSError, ValueError):
        return []
