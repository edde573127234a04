# SPDX-License-Identifier: BSD-3-Clause
"""Usable processors and memory under the limits of control groups."""

import os

import psutil
import pytest

from rbmbench.base.machine import usable_cores, usable_memory

MEGABYTE = 2**20
SMALL = {"cpu.max": "50000 100000\n", "memory.max": f"{300 * MEGABYTE}\n"}
NO_QUOTA = {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}
# Contents of /proc/self/cgroup, files below /sys/fs/cgroup, and the usable processors and MB (None: all).
LAYOUTS = {
    "no control groups": ("", {}, None, None),
    "version 2, a job of SLURM, whose limit is on a group above": (
        "0::/system.slice/slurmstepd.scope/job_7/step_0/task_0\n",
        {
            "system.slice/slurmstepd.scope/job_7/memory.max": f"{700 * MEGABYTE}\n",
            "system.slice/slurmstepd.scope/job_7/step_0/memory.max": "max\n",
            "system.slice/slurmstepd.scope/job_7/step_0/cpu.max": "max 100000\n",
            "system.slice/slurmstepd.scope/job_8/memory.max": f"{MEGABYTE}\n",
        },
        None,
        700,
    ),
    "version 2, a container, which sees its own group as the topmost": ("0::/\n", SMALL, 1, 300),
    "version 2, no limits": ("0::/user.slice\n", {"user.slice/cpu.max": "max 100000", "memory.max": "max"}, None, None),
    "version 1": (
        "5:memory:/job/step\n4:cpu,cpuacct:/job\n1:name=systemd:/x\n",
        {
            "memory/job/step/memory.limit_in_bytes": "9223372036854771712\n",
            "memory/job/memory.limit_in_bytes": f"{500 * MEGABYTE}\n",
            "cpu/job/cpu.cfs_quota_us": "70000\n",
            "cpu/job/cpu.cfs_period_us": "100000\n",
            **NO_QUOTA,
        },
        1,
        500,
    ),
    "version 1, a container, where the path is that of the host": (
        "5:memory:/docker/0a1b\n4:cpu,cpuacct:/docker/0a1b\n",
        {"memory/memory.limit_in_bytes": f"{400 * MEGABYTE}"} | NO_QUOTA,
        None,
        400,
    ),
    "quotas beyond the processors": ("0::/\n", {"cpu.max": f"{10**9} 100000", "memory.max": f"{2**60}"}, None, None),
}


def write_control_groups(folder, groups: str, files: dict[str, str]) -> None:
    """Write /proc/self/cgroup, and files below /sys/fs/cgroup."""
    for name, content in ({"proc/self/cgroup": groups} | {f"sys/fs/cgroup/{key}": files[key] for key in files}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def affinity() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_usable_cores_and_memory_are_those_of_the_control_group(tmp_path, layout):
    groups, files, cores, megabytes = LAYOUTS[layout]
    write_control_groups(tmp_path, groups, files)
    memory = psutil.virtual_memory().total if megabytes is None else megabytes * MEGABYTE
    assert (usable_cores(tmp_path), usable_memory(tmp_path)) == (cores or affinity(), memory)


def test_usable_cores_are_the_smallest_quota_rounded_up(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(7)), raising=False)
    write_control_groups(tmp_path, "0::/a/b\n", {"a/b/cpu.max": "500000 100000\n", "a/cpu.max": "250000 100000\n"})
    assert usable_cores(tmp_path) == 3


def test_all_cores_and_memory_are_usable_without_control_groups(tmp_path):
    assert (usable_cores(tmp_path), usable_memory(tmp_path)) == (affinity(), psutil.virtual_memory().total)
