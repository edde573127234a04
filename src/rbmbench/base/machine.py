# SPDX-License-Identifier: BSD-3-Clause
"""Processors and memory that this process may use, within its affinity and the limits of its control groups.

Schedulers and containers limit processes by control groups (cgroups), which neither `os.cpu_count` nor psutil reads.
``root`` is the folder that holds ``proc`` and ``sys``.
"""

import math
import os
from collections.abc import Iterator
from pathlib import Path


def usable_cores(root: Path = Path("/")) -> int:
    """Return the number of logical processors: the size of the affinity, or a smaller quota, rounded up; at least 1."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    version_1 = _limits(root, "cpu", "cpu.cfs_quota_us", "cpu.cfs_period_us")
    limits = [limit.split() for limit in (*_limits(root, "cpu", "cpu.max"), *version_1)]
    quotas = [math.ceil(int(quota) / int(period)) for quota, period in limits if quota.isdecimal()]
    return max(1, min([cores, *quotas]))


def usable_memory(root: Path = Path("/")) -> int:
    """Return the memory in bytes: that of the machine, or a smaller limit."""
    import psutil

    limits = (*_limits(root, "memory", "memory.max"), *_limits(root, "memory", "memory.limit_in_bytes"))
    return min([psutil.virtual_memory().total, *(int(limit) for limit in limits if limit.isdecimal())])


def _limits(root: Path, controller: str, *names: str) -> Iterator[str]:
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if controllers and controller not in controllers.split(","):
            continue
        mount, group = root / "sys/fs/cgroup" / (controller if controllers else ""), Path(path.lstrip("/"))
        for folder in (group, *group.parents):
            try:
                yield " ".join((mount / folder / name).read_text().strip() for name in names)
            except OSError:  # not of this version, or not visible in the container
                continue
