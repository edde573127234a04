# SPDX-License-Identifier: BSD-3-Clause
"""Plans of the configuration of this checkout, and jobs of plans by kind."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from rbmbench.config.loading import load
from rbmbench.planning.jobs import Output, Plan
from rbmbench.planning.plan import plan

CONFIG = Path(__file__).resolve().parents[2] / "config"


def planned_here(*overlays: str) -> Plan:
    """Return a copy of the plan of the paper scale, or with overlays such as "smoke"; computed once per process."""
    made = _planned_once(overlays)
    return replace(made, **{name: dict(part) for name, part in vars(made).items() if isinstance(part, dict)})


@cache
def _planned_once(overlays: tuple[str, ...]) -> Plan:
    return plan(load([CONFIG / f"{name}.yaml" for name in ("config", *overlays)]))


def ids_shown(plan: Plan, output: Output, kind: str = "train") -> tuple[str, ...]:
    """Return the ids of the jobs of a kind of a figure or table."""
    return tuple(name for name in output.jobs if plan.jobs[name].kind == kind)
