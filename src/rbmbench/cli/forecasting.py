# SPDX-License-Identifier: BSD-3-Clause
"""The subcommand ``forecast``."""

import sys
from argparse import Namespace
from pathlib import Path

from tabulate import tabulate

from rbmbench.base.machine import usable_cores
from rbmbench.cli.computing import check_out
from rbmbench.cli.making import scale_overlay
from rbmbench.cli.progress import duration
from rbmbench.config.loading import load
from rbmbench.model.work import ASSUMED_STOPPING_TIME
from rbmbench.planning.forecast import costs, jobs, records
from rbmbench.planning.plan import plan
from rbmbench.reporting.text_tables import write_csv

LARGER = 24, 200  # cores of a large machine and of a cluster, for which the time of all jobs is printed as well


def forecast(arguments: Namespace) -> None:
    """Print the remaining jobs, time and memory of the figures and tables of targets, and write them as CSV."""
    check_out(arguments)
    overlays = [*scale_overlay(arguments, arguments.config), *arguments.configfile]
    planned = plan(load([arguments.config, *overlays], arguments.values)).only(arguments.target)
    folders = arguments.results or [Path("results")] * Path("results").is_dir()
    recorded, notes = records.read_records(folders)
    cores = arguments.cores or usable_cores()
    model = costs.fitted_model(recorded, records.this_machine(), records.calibration_records)
    counted = jobs.jobs_of(planned, model.met, pilot=True)
    table, larger = jobs.forecast(planned, counted, model, cores), jobs.makespans(counted, model, LARGER)
    for note in notes:
        print(f"rbmbench: note: {note}", file=sys.stderr)
    if arguments.out:
        write_csv(table, arguments.out)
    header = ("result", "jobs done", "processor time", f"on {cores} core{'s' * (cores > 1)}", "memory")
    rows = []
    for row in table.itertuples():
        times = duration(row.processor_seconds), duration(row.wall_seconds)
        rows.append((row.result, f"{row.done} of {row.jobs}", *times, f"{row.memory_mb:.0f} MB"))
    table_text = tabulate(rows, header, colalign=("left", *["right"] * 4))
    print(f"{planned.scale} scale, jobs to compute:\n\n{table_text}\n")
    print("; ".join(f"on {number} cores: {duration(seconds)}" for number, seconds in larger.items()).capitalize() + ".")
    print(f"Fitted to {model.basis}.")
    print("Times are for otherwise idle cores.")
    print("Not counted: data sets, notebooks and the report, seconds each.")
    scope = ", where no run is recorded" if model.met else ""
    print(f"Coupled chains of unbiased CD are assumed to meet after {ASSUMED_STOPPING_TIME} steps on average{scope}.")
    print("Jobs shared by several results count once in the total.")
