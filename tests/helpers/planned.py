# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of plans, by kind."""

from rbmbench.planning.jobs import Output, Plan


def ids_shown(plan: Plan, output: Output, kind: str = "train") -> tuple[str, ...]:
    """Return the ids of the jobs of a kind that a figure or table shows."""
    return tuple(name for name in output.jobs if plan.jobs[name].kind == kind)
