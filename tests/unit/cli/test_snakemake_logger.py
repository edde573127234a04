# SPDX-License-Identifier: BSD-3-Clause
"""Lines that replace Snakemake's messages, from recorded messages."""

import json
import logging
import os
from types import SimpleNamespace

import pytest
from planned import planned_here

pytest.importorskip("snakemake")

from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent

from rbmbench.cli import snakemake_logger
from rbmbench.cli.job_lines import JobLines, Titles, last_line
from rbmbench.cli.output import MESSAGES
from rbmbench.cli.snakemake_logger import LoggedWorkflow, LogHandler, LogHandlerSettings
from rbmbench.io.layout import Layout
from rbmbench.planning.forecast.remaining import Expected

COMMAND = "rbmbench train --out 'x'"
SETTINGS = dict.fromkeys(("nocolor", "debug_dag", "verbose", "dryrun", "printshellcmds", "show_failed_logs", "stdout"))
TITLES = {1: "data set bars", 2: "CD-1", 3: "CD-2"}
START = 1_000_000.0


def log_record(message: str, seconds: float = 0.0, level: int = logging.INFO, **more) -> logging.LogRecord:
    """Return a message of Snakemake."""
    return logging.makeLogRecord({"msg": message, "created": START + seconds, "levelno": level} | more)


def started(job: int, seconds: float, rule: str = "train_run") -> logging.LogRecord:
    return log_record("", seconds, event=LogEvent.JOB_INFO, jobid=job, rule_name=rule)


def finished(job: int, seconds: float) -> logging.LogRecord:
    return log_record(f"Finished jobid: {job}", seconds, event=LogEvent.JOB_FINISHED, job_id=job)


def failed(job: int, log: str, message: str | None = None) -> logging.LogRecord:
    of = {"jobid": job, "rule_name": "train_run", "log": [log], "shellcmd": COMMAND, "rule_msg": message}
    return log_record("Error in rule", level=logging.ERROR, event=LogEvent.JOB_ERROR, **of)


def exited(how: str) -> logging.LogRecord:
    text = f"RuleException:\nCalledProcessError in file \"x.smk\", line 3:\nCommand 'set -e; {COMMAND}' {how}."
    return log_record(text, level=logging.ERROR, event=LogEvent.ERROR, exception="RuleException")


BEFORE = [
    log_record("Assuming unrestricted shared filesystem usage."),
    log_record("Building DAG of jobs..."),
    log_record("Workflow has started!", event=LogEvent.WORKFLOW_STARTED, quietness=Quietness.HOST),
    log_record("Using shell: /bin/bash"),
    log_record("Job stats:\ntotal 3", event=LogEvent.RUN_INFO, stats={}),
]


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """Clear the environment variable of messages."""
    monkeypatch.setenv(MESSAGES, "")


def lines_of(cores: int = 1) -> JobLines:
    return JobLines(TITLES, {job: Expected("train_run", 60.0) for job in TITLES}, cores, START)


def printed(capsys, records, lines: JobLines | None = None, options: dict | None = None, **settings) -> list[str]:
    """Return what the plugin prints for a sequence of messages."""
    common = SimpleNamespace(**{"quiet": set()} | SETTINGS | settings)
    handler = LogHandler(common, LogHandlerSettings(**options or {}))
    for record in BEFORE:
        handler.handle(record)
    if lines is not None and handler.shows_lines:
        handler.begin(lines, are_local=True)
    for record in records:
        handler.handle(record)
    return capsys.readouterr().err.splitlines()


def test_a_workflow_prints_one_line_per_job(capsys):
    records = [
        log_record("Select jobs to execute..."),
        log_record("Execute 1 jobs...", event=LogEvent.JOB_STARTED, jobs=[1]),
        started(1, 0.0, "prepare_data"),
        log_record("Shell command: x", event=LogEvent.SHELLCMD, shellcmd="x"),
        finished(1, 60.0),
        log_record("1 of 4 steps", event=LogEvent.PROGRESS, done=1, total=4),
        started(2, 60.0),
        log_record("rare, and of use"),
        finished(2, 120.0),
        started(3, 120.0),
        finished(3, 120.7),
        # The target is no job.
        started(0, 121.0, "all"),
        finished(0, 121.0),
        log_record("Complete log(s): x"),
    ]
    assert printed(capsys, records, lines_of()) == [
        "1/3 data set bars, 60 s, about 2 min left",
        "rare, and of use",
        "2/3 CD-1, 60 s, about 60 s left",
        "3/3 CD-2, 1 s",
    ]
    assert os.environ[MESSAGES] == "log"


def test_a_failed_job_shows_its_rule_and_the_end_of_its_log(capsys, tmp_path):
    log = tmp_path / "run.log"
    log.write_text("".join(f"line {number}\n" for number in range(100)))
    os.utime(log, (START + 5, START + 5))
    records = [started(2, 0.0), exited("returned non-zero exit status 2"), failed(2, str(log))]
    lines = printed(capsys, records, lines_of())
    first = "failed: CD-1 (rule train_run, returned non-zero exit status 2)"
    assert lines[:3] == [first, f"  log: {log}", "    line 88"]
    assert lines[-1] == "    line 99"
    assert len(lines) == 14


@pytest.mark.parametrize(
    ("content", "age", "message"),
    [(None, 0, "cannot be read: No such file or directory"), ("", 0, "empty"), ("old\n", 60, "an earlier attempt")],
)
def test_logs_that_do_not_show_the_failure(capsys, tmp_path, content, age, message):
    log = tmp_path / "run.log"
    if content is not None:
        log.write_text(content)
        os.utime(log, (START - age, START - age))
    lines = printed(capsys, [started(2, 0.0), failed(2, str(log))], lines_of())
    assert lines[0] == "failed: CD-1 (rule train_run)"
    assert message in lines[-1]
    assert "old" not in lines[-1]


def test_reasons_of_stopped_and_failed_jobs(capsys, tmp_path):
    records = [started(2, 0.0), exited("died with <Signals.SIGTERM: 15>"), failed(2, "none.log")]
    assert printed(capsys, records, lines_of())[0] == "stopped: CD-1 (rule train_run, died with SIGTERM)"
    records = [started(2, 0.0), failed(2, "none.log", "SLURM-job '7' failed, SLURM status is: 'OUT_OF_MEMORY'.")]
    lines = printed(capsys, records, lines_of())
    assert lines[1] == "  SLURM-job '7' failed, SLURM status is: 'OUT_OF_MEMORY'."
    record = log_record("", level=logging.ERROR, event=LogEvent.GROUP_ERROR, groupid="g", aux_logs=["slurm/7.log"])
    assert printed(capsys, [record], lines_of()) == ["failed: a group of jobs; its log: slurm/7.log"]


def test_other_errors_and_warnings_are_unchanged(capsys):
    records = [
        log_record("MissingOutputException:\nno file", level=logging.ERROR, event=LogEvent.ERROR, exception="X"),
        log_record("Building DAG of jobs failed", level=logging.WARNING),
    ]
    assert printed(capsys, records, lines_of()) == ["MissingOutputException:", "no file", "Building DAG of jobs failed"]


@pytest.mark.parametrize(
    "settings",
    [{"options": {"all_messages": True}}, {"printshellcmds": True}, {"verbose": True}, {"debug_dag": True}],
    ids=lambda settings: next(iter(settings)),
)
def test_options_restore_the_messages_of_snakemake(capsys, settings):
    lines = printed(capsys, [finished(1, 1.0)], lines_of(), **settings)
    assert "Building DAG of jobs..." in lines
    assert "Finished jobid: 1" in lines


def test_messages_of_other_workflows_are_unchanged(capsys):
    progress = log_record("", event=LogEvent.PROGRESS, done=1, total=4)
    assert printed(capsys, [finished(1, 1.0), progress])[-2:] == ["Finished jobid: 1", "1 of 4 steps (25%) done"]


@pytest.mark.parametrize(("quiet", "count"), [({Quietness.PROGRESS, Quietness.RULES}, 1), ({Quietness.ALL}, 0)])
def test_quiet_hides_lines_and_quiet_all_hides_failures(capsys, quiet, count):
    records = [started(1, 0.0), finished(1, 1.0), failed(2, "x.ipynb")]
    lines = printed(capsys, records, lines_of(), quiet=quiet)
    assert [line for line in lines if line.startswith("failed")] == ["failed: CD-1 (rule train_run)"] * count
    assert not [line for line in lines if line.startswith("1/3")]


def test_first_line_and_line_of_an_interrupted_workflow(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    lines = lines_of(2)
    assert lines.first(START) == "3 jobs to run, about 2 min"
    words = "1 of 3 jobs done; the same command goes on; all messages: .snakemake/log/x.log"
    assert lines.stopped(2, [f"{tmp_path}/.snakemake/log/x.log"]) == words


def test_jobs_of_a_stopped_workflow_are_counted_where_none_is_shown(monkeypatch):
    # With --quiet, Snakemake sends no messages on finished jobs.
    handler = LogHandler(SimpleNamespace(**SETTINGS | {"quiet": {Quietness.PROGRESS}}), LogHandlerSettings())
    handler.lines, texts = lines_of(), []
    monkeypatch.setattr(snakemake_logger, "logger", SimpleNamespace(info=texts.append))
    dag = SimpleNamespace(needrun_jobs=lambda: [SimpleNamespace(output=files) for files in (["x"], ["y"], [])])
    manager = SimpleNamespace(get_log_handlers=lambda: [handler])
    LoggedWorkflow(SimpleNamespace(dag=dag, logger_manager=manager), None).stop([])
    assert texts == ["1 of 3 jobs done; the same command goes on"]


def test_titles_name_figure_algorithm_and_data(repository, monkeypatch):
    monkeypatch.chdir(repository)
    planned = planned_here("smoke")
    titles = Titles(planned)

    def text(kind: str, start: str) -> str:
        return format(titles, next(name for name in planned.of_kind(kind) if name.startswith(start)))

    assert text("train", "mnist-16h-cd_10-0.01") == "popcd Figure 2: CD-10, digits, 16 hidden, rate 0.01"
    annealing = "popcd Figure 3: annealing of pop-CD-1, digits, 100 hidden, rate 0.1"
    assert text("evaluate", "letters-100h-pop_cd_1-0.1-ais") == annealing
    assert text("ground_truth", "artificial") == "popcd Table 1: exact gradient, artificial modes, 16 hidden"
    assert text("estimate", "bars_and_stripes-16h-cd_10") == "popcd Table 1: bias of CD-10, bars and stripes, 16 hidden"
    assert text("couple", "50v") == "ucd Figure 5: general coupling of chains, 50x10"
    assert text("sample", "mnist").startswith("rates_fpcd Figure 1: samples of FPCD-1, digits, 30 hidden")
    assert f"{titles:popcd_fig2}" == "popcd Figure 2"
    assert f"{titles:simulated_held_out}" == "simulated rbm"
    assert f"{titles:other}" == "other"


def test_the_last_line_names_page_and_verdicts(repository, tmp_path):
    layout = Layout(str(tmp_path))
    assert last_line(layout, has_report=False, has_claims=False) == f"Done: see {tmp_path}"
    assert last_line(layout, has_report=False, has_claims=False, outputs=["a.png", "b.md"]) == "Done: see a.png, b.md"
    assert last_line(layout, has_report=False, has_claims=False, outputs=["a.png"] * 4) == f"Done: see {tmp_path}"
    kept = (repository / "results/reference/desktop/claims.json").read_text()
    (tmp_path / "claims.json").write_text(kept)
    line = last_line(layout, has_report=True, has_claims=True)
    start, _, verdicts = line.partition("; verdicts: ")
    assert start == f"Done: open {tmp_path}/report/index.html"
    counts = dict(reversed(part.split(" ", 1)) for part in verdicts.split(", "))
    assert set(counts) == {"reproduced", "not reproduced", "inconclusive at this scale", "of variants"}
    assert int(counts["not reproduced"]) == kept.count('"verdict": "not reproduced"')
    assert int(counts["of variants"]) == kept.count('"class": "variant"') > 0
    values = json.loads(kept)
    for record in values["verdicts"]:
        record["reason"] = "not run"
    (tmp_path / "claims.json").write_text(json.dumps(values))
    assert last_line(layout, has_report=True, has_claims=True).endswith("; verdicts: none")
    smoke = last_line(Layout("results/smoke"), has_report=True, has_claims=True)
    assert smoke.endswith("; everything was made, and nothing is judged at this scale")
