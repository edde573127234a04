# SPDX-License-Identifier: BSD-3-Clause
"""Measurements in child processes: reference kernels, whole runs, and start-up."""

import json
import subprocess
import sys
from pathlib import Path

from rbmbench import datasets
from rbmbench.io import provenance
from rbmbench.training.timing import training_step
from rbmbench.training.trainer import train
from timing import OTHER, Clock, line

SCRIPT = Path(__file__).resolve().parent / "measure.py"
ITERATIONS = 20_000


def compiled_kernels(clock: Clock) -> list[dict]:
    """Compare steps of 25 trials with those on the NumPy reference kernels."""
    mnist = {"visible": 784, "hidden": 16, "batch": 500, "estimator": "cd", "options": {"k": 1}, "trials": 25}
    bars = {"visible": 16, "hidden": 16, "batch": 32, "estimator": "cd", "options": {"k": 1}, "trials": 25, "rows": 32}
    lines = []
    for name, job, rounds in (("784x16, batch 500", mnist, 10), ("16x16, batch 32", bars, 500)):
        ours = _child(job | {"rounds": clock.rounds(rounds)})["seconds"]
        reference = _child(job | {"rounds": clock.rounds(max(3, rounds // 10))}, without_numba=True)["seconds"]
        label = f"CD-1 step of 25 trials, {name}"
        lines.append(line(label, ours, "NumPy reference kernels", OTHER, reference, "<= 0.33"))
    return lines


def whole_runs(clock: Clock) -> list[dict]:
    """Compare a run of 25 trials with 25 runs of one."""
    together, alone = (_child({"whole_run_of": trials}) for trials in (25, 1))
    lines = []
    for kind, name in (("seconds", "start-up and training"), ("training_seconds", "training alone")):
        label = f"CD-1 run of 25 trials, 16x16, {ITERATIONS:_} iterations, {name}".replace("_", " ")
        lines.append(line(label, together[kind], "25 runs of one trial each", OTHER, 25 * alone[kind], "<= 0.10"))
    return lines


def start_up(clock: Clock) -> list[dict]:
    """Time --help, and the start-up from import to first iteration with cached kernels."""
    help_command = [sys.executable, "-m", "rbmbench", "--help"]
    code = (
        "import numpy as np, rbmbench; rbmbench.train(np.eye(16, dtype=np.uint8), hidden=16, batch=16, iterations=1,"
        " trials=25)"
    )
    bare, help_seconds, first = Clock(clock.most_rounds).best(  # processor time would be that of this process
        lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
        lambda: subprocess.run(help_command, check=True, stdout=subprocess.DEVNULL),
        lambda: subprocess.run([sys.executable, "-c", code], check=True),
        rounds=5,
    )
    return [
        line("rbmbench --help", help_seconds, "python -c pass", OTHER, bare, "< 0.3 s"),
        line("import to first iteration, 25 trials 16x16", first, "python -c pass", OTHER, bare, "< 2 s"),
    ]


def run_job(job: dict) -> dict[str, float]:
    """Run a job of `_child` in the child process."""
    if "whole_run_of" in job:
        return _whole_run(job["whole_run_of"])
    rounds = job.pop("rounds")
    return {"seconds": Clock(rounds).best(training_step(**job), rounds=rounds)[0]}


def _child(job: dict, without_numba: bool = False) -> dict[str, float]:
    """Run a job in a child process and return its result."""
    command = [sys.executable, str(SCRIPT), "--job", json.dumps(job)]
    if without_numba:
        command.append("--without-numba")
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(process.stdout.splitlines()[-1])


def _whole_run(trials: int) -> dict[str, float]:
    """Train, and return the time with and without start-up, both without evaluation."""
    bars = datasets.load("bars_and_stripes").train
    result = train(bars, hidden=16, batch=32, iterations=ITERATIONS, trials=trials, evaluate_every=ITERATIONS)
    total = provenance.seconds_since_start() - result.timings["evaluation_seconds"]
    return {"seconds": total, "training_seconds": result.timings["training_seconds"]}
