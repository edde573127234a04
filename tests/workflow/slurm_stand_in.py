#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stand-in for SLURM's commands, by the name of the program: jobs run at once, on this machine.

The folder of the variable SLURM_STAND_IN has ``refusals``, the reasons of refused calls of sbatch, one per line;
``away``, while the controller does not answer; ``calls``, one line of JSON per call; and a folder for each job, with
its state and the number of jobs that ran when it was submitted.
"""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

COMMANDS = ("sbatch", "squeue", "scontrol", "scancel", "sinfo", "srun", "sacct", "sacctmgr")
FOLDER = Path(os.environ.get("SLURM_STAND_IN", "."))


def main(command: str, arguments: list[str]) -> int:
    """Run a command; return its exit status."""
    if command == "srun":
        while arguments[0].startswith("-"):
            arguments.pop(0)
        os.execvp(arguments[0], arguments)
    with open(FOLDER / "calls", "a+", encoding="utf-8") as calls:
        fcntl.flock(calls, fcntl.LOCK_EX)
        calls.write(json.dumps([command, *arguments]) + "\n")
        if command in ("sacct", "sacctmgr"):
            return failed("Slurm accounting storage is disabled")
        if (FOLDER / "away").exists():
            return failed("error: Unable to contact slurm controller (connect failure)")
        return {"sbatch": submit, "squeue": show_states, "scontrol": show_configuration}.get(command, done)(arguments)


def failed(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


def done(_arguments: list[str]) -> int:
    return 0


def submit(arguments: list[str]) -> int:
    """Start a job and print its id, unless there is a refusal."""
    reasons = (FOLDER / "refusals").read_text().splitlines() if (FOLDER / "refusals").exists() else []
    if reasons:
        (FOLDER / "refusals").write_text("".join(f"{reason}\n" for reason in reasons[1:]))
        return failed(f"sbatch: error: {reasons[0]}\nsbatch: error: Batch job submission failed: {reasons[0]}")
    number = sum(path.name.isdecimal() for path in FOLDER.iterdir()) + 1
    job = FOLDER / str(number)
    job.mkdir()
    (job / "state").write_text("RUNNING")
    (job / "at_once").write_text(str(sum(state.read_text() == "RUNNING" for state in FOLDER.glob("*/state"))))
    (job / "script").write_text(next(word for word in arguments if word.startswith("--wrap="))[len("--wrap=") :])
    ending = 'if sh "$0/script"; then echo COMPLETED; else echo FAILED; fi > "$0/ended" && mv "$0/ended" "$0/state"'
    with open(os.devnull, "r+") as nothing, open(job / "output", "w") as output:
        words = ["sh", "-c", ending.replace('sh "$0/script"', 'sh "$0/script" > "$0/output" 2>&1'), str(job)]
        environment = os.environ | {"SLURM_JOB_ID": str(number)}
        subprocess.Popen(words, stdin=nothing, stdout=output, stderr=output, env=environment, start_new_session=True)
    print(number)
    return 0


def show_states(_arguments: list[str]) -> int:
    for state in sorted(FOLDER.glob("*/state")):
        print(f"{state.parent.name}|{state.read_text().strip()}")
    return 0


def show_configuration(_arguments: list[str]) -> int:
    print("MinJobAge = 300 sec")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[0]).name, sys.argv[1:]))
