# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of jobs, one file each: settings, files, computation, cost and title. A job is computed once, into a folder."""

from rbmbench.jobs._base import JobKind, Measurement, Results, Sizes, Task
from rbmbench.jobs._registry import REGISTRY, kind_of, kind_of_meta, kinds, of_name

__all__ = [
    "REGISTRY",
    "JobKind",
    "Measurement",
    "Results",
    "Sizes",
    "Task",
    "kind_of",
    "kind_of_meta",
    "kinds",
    "of_name",
]
