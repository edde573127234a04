"""The subcommand that tells what a scale will take, before anything runs."""

import math
import os
import sys
from argparse import Namespace

from rbmbench.cli.making import plain_data

__all__ = ["forecast"]


def forecast(arguments: Namespace) -> None:
    """Print what every figure and table of a scale still takes, and write it as csv."""
    from rbmbench.config.loading import load
    from rbmbench.io.atomic import replaced
    from rbmbench.planning import forecast as forecasts
    from rbmbench.planning.plan import plan

    values = None if arguments.values is None else plain_data("--values", arguments.values)
    asked = plan(load([arguments.config, *arguments.configfile], values))
    records, notes = forecasts.read_records(arguments.results)
    cores = arguments.cores or os.cpu_count() or 1
    model = forecasts.fitted_model(records, forecasts.this_machine(), forecasts.calibration_records)
    table = forecasts.forecast(asked, model, cores)
    for note in notes:
        print(f"rbmbench: note: {note}", file=sys.stderr)
    if arguments.out:
        with replaced(arguments.out) as temporary:
            table.to_csv(temporary, index=False, lineterminator="\n")
    print(f"{asked.scale} scale, what is left to compute:\n\n{_shown(table, cores)}\n\n{_certainty(model)}")


def _shown(table, cores: int) -> str:
    """Return the forecast as a table for people."""
    from tabulate import tabulate

    lines = [
        (
            line.result,
            f"{line.done} of {line.jobs}",
            _duration(line.processor_seconds),
            _duration(line.wall_seconds),
            f"{line.memory_mb:.0f} MB",
        )
        for line in table.itertuples()
    ]
    wall = f"on {cores} core{'s' * (cores > 1)}"
    return tabulate(lines, ("result", "jobs done", "processor time", wall, "memory"), colalign=("left", *["right"] * 4))


def _certainty(model) -> str:
    """Return what the forecast rests on, and how far such forecasts were off."""
    from rbmbench.planning.forecast.work import ASSUMED_STOPPING_TIME

    lines = [f"Fitted to {model.basis}."]
    if math.isfinite(model.off_alike[0]):
        median, most = model.off_alike
        lines.append(
            f"Recorded jobs, each forecast without itself: off by a factor of {median:.2f} (median), {most:.2f} (90 %)."
        )
    else:
        lines.append("How far forecasts are off is not known here: too few jobs were recorded.")
    if math.isfinite(model.off_new[0]):
        median, most = model.off_new
        lines.append(f"The same without all jobs of its data set and size: {median:.2f} (median), {most:.2f} (90 %).")
    if model.clock > 1.05:
        lines.append(f"Times are for cores that do nothing else; recorded runs took {model.clock:.2f} times as long.")
    lines.append("Not counted: data sets, notebooks and the report, seconds each; stopping times and samples, minutes.")
    lines.append(f"Coupled chains of UCD are taken to meet after {ASSUMED_STOPPING_TIME} steps on average.")
    lines.append("Results that two share count once.")
    return "\n".join(lines)


def _duration(seconds: float) -> str:
    """Return a time for people: "40 s", "12 min", "3 h 05 min", "2 d 4 h"."""
    if seconds < 90:
        return f"{math.ceil(seconds)} s"
    minutes = math.ceil(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"
