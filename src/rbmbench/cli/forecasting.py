# SPDX-License-Identifier: BSD-3-Clause
"""The subcommand ``forecast``."""

import math
import sys
from argparse import Namespace

import pandas as pd
from tabulate import tabulate

from rbmbench.base.machine import usable_cores
from rbmbench.cli.making import scale_overlay
from rbmbench.cli.parser import plain_data
from rbmbench.cli.progress import duration
from rbmbench.config.loading import load
from rbmbench.io.atomic import replaced
from rbmbench.model.work import ASSUMED_STOPPING_TIME
from rbmbench.planning import forecast as forecasts
from rbmbench.planning.forecast.costs import CostModel
from rbmbench.planning.plan import plan

LARGER = 24, 200
"""Cores of a large machine and of a cluster, for which the time of all jobs is printed as well."""


def forecast(arguments: Namespace) -> None:
    """Print what is left to compute for the figures and tables of targets, and write it as CSV."""
    values = None if arguments.values is None else plain_data("--values", arguments.values)
    overlays = [*scale_overlay(arguments, arguments.config), *arguments.configfile]
    asked = plan(load([arguments.config, *overlays], values)).only(arguments.target)
    records, notes = forecasts.read_records(arguments.results)
    cores = arguments.cores or usable_cores()
    model = forecasts.fitted_model(records, forecasts.this_machine(), forecasts.calibration_records)
    table = forecasts.forecast(asked, model, cores)
    larger = forecasts.makespans(asked, model, LARGER)
    for note in notes:
        print(f"rbmbench: note: {note}", file=sys.stderr)
    if arguments.out:
        with replaced(arguments.out) as temporary:
            table.to_csv(temporary, index=False, lineterminator="\n")
    print(f"{asked.scale} scale, what is left to compute:\n\n{_shown(table, cores)}\n")
    print("; ".join(f"on {number} cores: {duration(seconds)}" for number, seconds in larger.items()).capitalize() + ".")
    print(_accuracy(model))


def _shown(table: pd.DataFrame, cores: int) -> str:
    """Return the forecast as a text table."""
    header = ("result", "jobs done", "processor time", f"on {cores} core{'s' * (cores > 1)}", "memory")
    rows = []
    for row in table.itertuples():
        times = duration(row.processor_seconds), duration(row.wall_seconds)
        rows.append((row.result, f"{row.done} of {row.jobs}", *times, f"{row.memory_mb:.0f} MB"))
    return tabulate(rows, header, colalign=("left", *["right"] * 4))


def _accuracy(model: CostModel) -> str:
    """Return the basis of the forecast, its accuracy, and what it leaves out, one line each."""
    lines = [f"Fitted to {model.basis}."]
    alike, new = (f"{median:.2f} (median), {most:.2f} (90 %)." for median, most in (model.off_alike, model.off_new))
    if math.isfinite(model.off_alike[0]):
        lines.append(f"Recorded jobs of a second or more, each forecast without itself: off by a factor of {alike}")
    else:
        lines.append("Accuracy unknown: too few jobs were recorded.")
    if math.isfinite(model.off_new[0]):
        lines.append(f"The same without all jobs of its data set and size: {new}")
    if model.clock > 1.05:
        lines.append(f"Times are for otherwise idle cores; recorded runs took {model.clock:.2f} times as long.")
    lines.append("Not counted: data sets, notebooks and the report, seconds each.")
    assumed = f"{ASSUMED_STOPPING_TIME} steps on average{', where no run is recorded' if model.met else ''}"
    lines.append(f"Coupled chains of unbiased CD are assumed to meet after {assumed}.")
    lines.append("Jobs shared by several results count once in the total.")
    return "\n".join(lines)
