# SPDX-License-Identifier: BSD-3-Clause
"""The lines of a workflow on a terminal: titles of jobs, and one line for each finished job."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rbmbench.base.errors import RbmbenchError
from rbmbench.cli.progress import duration
from rbmbench.io.layout import Layout
from rbmbench.planning.blocks import Block
from rbmbench.planning.bundles import Bundle
from rbmbench.planning.forecast.remaining import Expected, Remaining
from rbmbench.planning.jobs import Plan, title_of_data

SHOWN_LINES = 12  # last lines of the log of a failed job that are shown
MOST_SHOWN = 3  # pictures and tables that the last line names
MOST_BYTES = 100_000  # bytes of a log that are read for them, from its end
SIGNAL = r"<Signals\.(\w+): \d+>"
STOPPED = ("SIGINT", "SIGTERM", "SIGHUP", " 129", " 130", " 143")
"""Endings of messages on commands that were stopped by a signal."""


class Titles:
    """Titles of jobs, figures, tables and data sets, by id or key, as format specs: "{TITLES:ID}".

    Messages of Snakemake's rules are formatted with the names of the workflow. They are no parameters of a rule, so
    that another label of an algorithm does not run its jobs again.
    """

    def __init__(self, plan: Plan, blocks: Iterable[Block] = (), bundles: Iterable[Bundle] = ()):
        self._titles = {name: title_of_data(entry) for name, entry in plan.data.items()}
        first_shown: dict[str, str] = {}
        for key, output in plan.outputs.items():
            self._titles[key] = f"{output.spec.paper} {output.spec.number}"
            for name in plan.needed(output):
                title = first_shown.setdefault(name, self._titles[key])
                self._titles.setdefault(name, f"{title}: {plan.jobs[name].title}")
        for block in blocks:
            self._titles[block.id] = f"{self._titles[block.job.id]}, {block.title}"
        for bundle in bundles:
            self._titles[bundle.id] = f"{first_shown[bundle.jobs[0].id]}: {bundle.title}"

    def __format__(self, name: str) -> str:
        return self._titles.get(name, name)


class JobLines:
    """One line for each finished job, and a block for each failed one; ``now`` is in seconds, of one clock.

    ``titles`` and ``expected`` have the jobs that will run, by their number in Snakemake; others are not shown. At most
    ``cores`` of them run at a time.
    """

    def __init__(self, titles: Mapping[int, str], expected: Mapping[int, Expected], cores: int, now: float):
        self._titles, self._left, self._done = dict(titles), Remaining(expected, cores, now), 0
        self._started: dict[int, float] = {}
        self._statuses: list[str] = []

    def first(self, now: float) -> str:
        """Return the line before all others."""
        count = len(self._titles)
        return f"{count} job{'s' * (count != 1)} to run, about {duration(self._left.seconds(now))}"

    def start(self, job: int, now: float) -> None:
        """Note that a job starts."""
        self._started[job] = now
        self._left.started(job, now)

    def finish(self, job: int, now: float) -> str | None:
        """Return the line of a job that has finished; None for a target."""
        if job not in self._titles:
            return None
        self._done += 1
        seconds, total = self._left.finished(job, now), len(self._titles)
        parts = [self._titles[job], duration(seconds)]
        parts += [f"about {duration(self._left.seconds(now))} left"] if self._done < total else []
        return f"{self._done:>{len(str(total))}}/{total} {', '.join(parts)}"

    def note_command(self, message: str) -> None:
        """Note Snakemake's message on a command that failed, which has its exit status."""
        self._statuses.append(message)

    def fail(self, job: int, rule: str, logs: Sequence[str], command: str | None, why: str | None) -> str:
        """Return rule, log and last lines of the log of a job that failed; ``why`` is the message of an executor."""
        messages = [message for message in self._statuses if command and command.strip() in message]
        ends = [re.sub(SIGNAL, r"\1", message.rpartition("' ")[2].strip().rstrip(".")) for message in messages]
        word = "stopped" if ends and ends[-1].endswith(STOPPED) else "failed"
        lines = [f"{word}: {self._titles.get(job, rule)} ({', '.join([f'rule {rule}', *ends[-1:]])})"]
        lines += [f"  {why}"] if why else []
        for log in logs:
            # The partial notebook is named, not shown.
            ending = self._end_of(log, self._started.get(job, 0.0)) if not log.endswith(".ipynb") else []
            lines += [f"  log: {log}", *(f"    {line}" for line in ending)]
        return "\n".join(lines)

    def stopped(self, left: int, logs: Sequence[str]) -> str:
        """Return the number of finished jobs of a stopped workflow, with ``left`` to run; ``logs`` are Snakemake's."""
        total = len(self._titles)
        messages = f"; all messages: {', '.join(map(os.path.relpath, logs))}" if logs else ""
        return f"{total - left} of {total} jobs done; the same command goes on{messages}"

    def _end_of(self, log: str, started: float) -> list[str]:
        """Return the last lines of a log; a note if nothing was written to it."""
        try:
            # Whole seconds, as some file systems round.
            if Path(log).stat().st_mtime < int(started) - 1:
                return ["(nothing was written to it; it is of an earlier attempt)"]
            with open(log, "rb") as file:
                file.seek(max(0, file.seek(0, 2) - MOST_BYTES))
                lines = file.read().decode(errors="replace").splitlines()
        except OSError as error:
            return [f"(cannot be read: {error.strerror})"]
        return lines[-SHOWN_LINES:] or ["(empty)"]


def last_line(layout: Layout, has_report: bool, has_claims: bool, outputs: Sequence[str] = ()) -> str:
    """Return the place of the results, and the number of verdicts of each kind on claims that were run.

    Page and verdicts are named if they are up to date; ``outputs`` are such pictures and tables.
    """
    names = ", ".join(outputs) if len(outputs) <= MOST_SHOWN else ""
    place = f"open {layout.report}" if has_report else f"see {names or layout.root}"
    if not has_claims:
        return f"Done: {place}"
    from rbmbench.reporting.claims.files import VARIANT
    from rbmbench.reporting.claims.verdict import CHECK_OF_INSTALLATION, NOT_RUN, read_verdicts

    if Path(layout.root).name == CHECK_OF_INSTALLATION:
        return f"Done: {place}; everything was made, and nothing is judged at this scale"
    try:
        records = [record for record in read_verdicts(layout.verdicts) if record.reason != NOT_RUN]
        counts = Counter("of variants" if record.standing == VARIANT else record.verdict for record in records)
    except RbmbenchError as error:
        return f"Done: {place} ({error})"
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    return f"Done: {place}; verdicts: {verdicts or 'none'}"
