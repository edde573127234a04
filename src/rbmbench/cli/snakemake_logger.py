# SPDX-License-Identifier: BSD-3-Clause
"""Messages of Snakemake on a terminal: one line per job in place of its own messages, which stay in its log.

`LogHandler` is a logger plugin of Snakemake, which finds it by the package `snakemake_logger_plugin_rbmbench`. The
Snakefile passes the jobs to it. Dry runs, ``--printshellcmds``, ``--verbose``, ``--debug-dag`` and the plugin's
own option bring Snakemake's messages back.
"""

import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from logging import ERROR, INFO, LogRecord
from pathlib import Path
from typing import TYPE_CHECKING

from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter, logger
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

from rbmbench.cli.output import MESSAGES, TO_LOG, LoggedStream
from rbmbench.io.caches import replace_unwritable_cache

if TYPE_CHECKING:  # Snakemake imports all plugins at each start
    from snakemake.workflow import Workflow

    from rbmbench.cli.job_lines import JobLines
    from rbmbench.planning.jobs import Plan

NOTHING_TO_DO = "Nothing to be done"
CHATTER = re.compile(
    r"Assuming unrestricted shared filesystem|Building DAG of jobs|Complete log\(s\):|Conda environments: ignored"
    r"|Config file .* is extended|Elapsed time:|Group jobs: inactive|Select jobs to execute"
    r"|Singularity containers: ignored|Using shell:|Job \d+ has been submitted with SLURM"
)
"""Beginnings of the messages that are omitted beside the lines. All others that are no event are shown."""
LEFT_OUT = {LogEvent.GROUP_INFO, LogEvent.JOB_STARTED, LogEvent.PROGRESS, LogEvent.RESOURCES_INFO, LogEvent.RULEGRAPH}
LEFT_OUT |= {LogEvent.RUN_INFO, LogEvent.SHELLCMD, LogEvent.WORKFLOW_STARTED}
FAILED_COMMAND = "CalledProcessError"


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """The options of the plugin."""

    all_messages: bool = field(
        default=False, metadata={"help": "Show Snakemake's own messages in place of one line per job."}
    )


class LogHandler(LogHandlerBase):
    """Snakemake's messages unchanged, or one line per job once `begin` has been called.

    It replaces the messages on standard error; Snakemake writes its log itself. The filter and the format of messages
    of Snakemake are applied here.
    """

    writes_to_stream = has_filter = has_formatter = True
    writes_to_file = needs_rulegraph = False

    def __post_init__(self) -> None:
        settings = self.common_settings
        # Before Snakemake makes its own folder there.
        if warning := replace_unwritable_cache():
            print(f"rbmbench: warning: {warning}", file=sys.stderr)
        stream = LoggedStream(sys.stdout if settings.stdout else sys.stderr)
        options = settings.debug_dag, settings.verbose, settings.dryrun, settings.printshellcmds
        formatter = DefaultFormatter(settings.quiet, settings.show_failed_logs)
        self._own = ColorizingTextHandler(settings.nocolor, stream, formatter, DefaultFilter(settings.quiet, *options))
        self.shows_lines = not any(options) and not (self.settings and self.settings.all_messages)
        self.lines: JobLines | None = None
        self.workflow: LoggedWorkflow | None = None  # of the messages

    def begin(self, lines: "JobLines", are_local: bool) -> None:
        """Show lines from now on; the messages of jobs on this machine go to their logs alone."""
        self.lines = lines
        if are_local:
            os.environ[MESSAGES] = TO_LOG

    def emit(self, record: LogRecord) -> None:
        """Show a message of Snakemake, or the line that replaces it."""
        if not self.shows_lines:
            self._own.handle(record)
        elif self.lines is not None and (line := _line(self.lines, record)) is not None:
            self._show(record, line)
        else:
            event = getattr(record, "event", None)
            is_of_job = event in (LogEvent.GROUP_INFO, LogEvent.PROGRESS) and self.lines is None
            is_chatter = event is None and record.levelno <= INFO and CHATTER.match(record.getMessage())
            if is_of_job or not (event in LEFT_OUT or is_chatter):
                self._own.handle(record)
        if self.shows_lines and self.workflow is not None and record.getMessage().startswith(NOTHING_TO_DO):
            self._show(record, self.workflow.last_line())

    def _show(self, record: LogRecord, text: str) -> None:
        """Show a text in place of a message, if --quiet allows it; an error unless nothing at all may be shown."""
        if text and record.levelno >= ERROR:
            self._own.handle(LogRecord(record.name, record.levelno, record.pathname, record.lineno, text, None, None))
        elif text and self._own.filter(record):
            self._own.stream.write(f"{text}\n")


class LoggedWorkflow:
    """A running workflow; the Snakefile calls its methods, which pass lines to this plugin if it is in use."""

    def __init__(self, workflow: "Workflow", plan: "Plan"):
        self._workflow, self._plan = workflow, plan
        handlers = workflow.logger_manager.get_log_handlers()
        self._handlers = [handler for handler in handlers if isinstance(handler, LogHandler) and handler.shows_lines]
        for handler in self._handlers:
            handler.workflow = self

    def begin(self) -> None:
        """Print the number of jobs that will run, and their time."""
        for handler in self._handlers:
            lines = self._lines()
            handler.begin(lines, self._workflow.local_exec)
            logger.info(f"{lines.first(time.time())}; logs in {self._plan.layout.logs}")

    def end(self) -> None:
        """Print the place of the results."""
        logger.info(self.last_line())

    def stop(self, logs: Sequence[str]) -> None:
        """Print the progress of a workflow that failed or was interrupted; ``logs`` are those of Snakemake."""
        for handler in self._handlers:
            if handler.lines is not None:
                # With --quiet, Snakemake does not say that a job has finished.
                left = sum(bool(job.output) for job in self._workflow.dag.needrun_jobs())
                logger.info(handler.lines.stopped(left, logs))

    def last_line(self) -> str:
        """Return the place of the results, and the numbers of verdicts."""
        from rbmbench.cli.job_lines import last_line

        jobs = list(self._workflow.dag.jobs)
        rules, files = {job.rule.name for job in jobs}, {str(file) for job in jobs for file in job.output}
        named = sorted(file for file in files if file.endswith(".png") or ("/tables/" in file and file.endswith(".md")))
        return last_line(self._plan.layout, "write_report" in rules, "check_claims" in rules, named)

    def _lines(self) -> "JobLines":
        from rbmbench.cli.job_lines import JobLines
        from rbmbench.planning.forecast.remaining import UNCOUNTED_SECONDS, Expected, expected_seconds

        dag = self._workflow.dag
        jobs = {dag.jobid(job): job for job in dag.needrun_jobs() if job.output}
        seconds = expected_seconds(self._plan, filter(Path.is_dir, [Path("results")]))
        expected, titles = {}, {number: job.message or job.rule.name for number, job in jobs.items()}
        for number, job in jobs.items():
            name = dict(job.wildcards_dict).get("job", job.rule.name)
            kind = "bundle" if name == job.rule.name in seconds else job.rule.name
            expected[number] = Expected(kind, seconds.get(name, UNCOUNTED_SECONDS))
        at_once = self._workflow.cores if self._workflow.local_exec else self._workflow.nodes
        return JobLines(titles, expected, at_once or 1, time.time())


def _line(lines: "JobLines", record: LogRecord) -> str | None:
    """Return the text in place of a message, "" for none; None leaves the message as it is."""
    fields = record.__dict__
    match fields.get("event"):
        case LogEvent.JOB_INFO:
            lines.start(fields["jobid"], record.created)
            return ""
        case LogEvent.JOB_FINISHED:
            return lines.finish(fields["job_id"], record.created) or ""
        case LogEvent.JOB_ERROR:
            command, reason = fields.get("shellcmd"), fields.get("rule_msg")
            return lines.fail(fields["jobid"], fields["rule_name"], fields["log"], command, reason)
        case LogEvent.GROUP_ERROR:
            return f"failed: a group of jobs; its log: {', '.join(fields.get('aux_logs') or ['none'])}"
        case LogEvent.ERROR if FAILED_COMMAND in record.getMessage():
            lines.note_command(record.getMessage())
            return ""
    return None
