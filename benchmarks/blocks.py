# SPDX-License-Identifier: BSD-3-Clause
"""Runs that are divided into blocks of trials, against the same run as one job, in processor time.

    python benchmarks/blocks.py --minutes 3

A run of 8 trials is computed as 1, 2 and 8 blocks, two processes at a time, and joined; each way is a job of the
workflow. The files of all ways must have the same bytes. Processor seconds are those of all processes of a way, the
start of each included. Two processes share caches and memory, and then take more of them than one; with ``--processes
1``, only division costs. ``--minutes`` is the length of one of 8 blocks; the share that is lost by division falls with
it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

from rbmbench import datasets
from rbmbench.io.layout import CURVE, MODEL
from rbmbench.training.timing import made_data

TRIALS, ROWS, VISIBLE, HIDDEN, BATCH = 8, 5000, 784, 100, 100
SECONDS_OF_ITERATION = 0.0007
"""About that of a trial, on a core of 2.5 GHz."""


class Way:
    """One way to compute the run, in its own folder, with the processor seconds of its processes."""

    def __init__(self, folder: Path, data: Path, iterations: int, blocks: int, processes: int):
        stage = {"until": iterations, "estimator": {"name": "cd", "options": {"k": 1}}, "rate": 0.01}
        run = {"hidden": HIDDEN, "batch": BATCH, "schedule": [stage], "trials": TRIALS, "evaluate_every": iterations}
        self._settings, self._data = {"data": {"name": "made"}} | run, data
        self.folder, self.blocks, self._processes = folder / f"{blocks} blocks", blocks, processes
        self.processor = self.clock = 0.0

    def compute(self) -> None:
        """Compute the run."""
        began, before = perf_counter(), os.times()
        if self.blocks == 1:
            self._job(self.folder)
        else:
            trials = TRIALS // self.blocks
            blocks = [f"{first}-{trials}" for first in range(0, TRIALS, trials)]
            folders = [self.folder.parent / f"{self.folder.name} {block}" for block in blocks]
            with ThreadPoolExecutor(self._processes) as pool:
                list(pool.map(lambda folder, block: self._job(folder, "--block", block), folders, blocks))
            self._job(self.folder, "--blocks", *folders)
        after = os.times()
        self.processor = after.children_user + after.children_system - before.children_user - before.children_system
        self.clock = perf_counter() - began

    def compared_with(self, whole: "Way") -> str:
        """Return processor and elapsed seconds, and their ratios to those of one job; assert equal bytes."""
        for file in (CURVE, MODEL):
            assert (self.folder / file).read_bytes() == (whole.folder / file).read_bytes(), f"{file}: other bytes"
        processor, clock = self.processor / whole.processor, self.clock / whole.clock
        seconds = f"{self.processor:.1f} s of processor ({processor:.3f}), {self.clock:.1f} s elapsed ({clock:.2f})"
        return f"{self.blocks} blocks: {seconds}, equal bytes"

    def _job(self, out: Path, *arguments: str | Path) -> None:
        command = ["rbmbench", "job", "train", "--settings", json.dumps(self._settings), "--data", self._data]
        command += ["--run-id", "run", "--out", out, *arguments]
        command += ["--log", f"{out}.log"]
        with open(os.devnull, "w") as nowhere:
            subprocess.run([sys.executable, "-m", *map(str, command)], check=True, stdout=nowhere, stderr=nowhere)


def main() -> None:
    """Compute the run in each way, and print processor and elapsed seconds relative to one job."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--minutes", type=float, default=1.0, metavar="M", help="length of one of 8 blocks")
    parser.add_argument("--processes", type=int, default=2, metavar="P", help="blocks that are computed at a time")
    arguments = parser.parse_args()
    iterations, processes = int(60 * arguments.minutes / SECONDS_OF_ITERATION), arguments.processes
    print(f"{TRIALS} trials of CD-1, {VISIBLE}x{HIDDEN}, batch {BATCH}, {iterations} iterations, {processes} at a time")
    with tempfile.TemporaryDirectory() as name:
        folder, rows = Path(name), made_data(ROWS, VISIBLE)
        parts = {"train": rows, "validation": rows[:0], "test": rows[:0]}
        dataset = datasets.build("made", "Made", **parts, source="generated", preprocessing="none", options={})
        datasets.save(dataset, folder / "data.npz")
        ways = [Way(folder, folder / "data.npz", iterations, blocks, processes) for blocks in (1, 2, TRIALS)]
        for way in ways:
            way.compute()
            print(way.compared_with(ways[0]), flush=True)


if __name__ == "__main__":
    main()
