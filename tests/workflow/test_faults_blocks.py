# SPDX-License-Identifier: BSD-3-Clause
"""Faults of blocks of trials: kills, signals to stop and second processes, during computing and joining."""

import json
import os
import signal
from pathlib import Path

import pytest
from disks import small_disk
from workspaces import run_cli

from rbmbench.cli import main
from rbmbench.io import results
from rbmbench.io.layout import META
from rbmbench.io.locks import locked

TRIALS = 2
SETTINGS = {"data": {"name": "bars_and_stripes"}, "hidden": 7, "batch": 11, "trials": TRIALS, "evaluate_every": 10}
SETTINGS |= {"schedule": [{"until": 60, "estimator": {"name": "pcd"}, "rate": 0.1}]}


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder except logs; metas, which have times, are empty."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".log"]
    return {str(path.relative_to(folder)): b"" if path.name == META else path.read_bytes() for path in files}


def check_metas(folder: Path) -> None:
    """Compare all results below a folder with the checksums beside them."""
    for meta in folder.rglob(META):
        results.check_files(meta.parent)


@pytest.fixture(scope="module")
def blocks(tmp_path_factory) -> list[str]:
    """The arguments that join two computed blocks."""
    folder = tmp_path_factory.mktemp("blocks")
    assert main(["data", "--name", "bars_and_stripes", "--out", f"{folder}/data.npz"]) == 0
    command, names = ["job", "train", "--data", f"{folder}/data.npz"], [f"{folder}/{n}-1" for n in range(TRIALS)]
    for name in names:
        block = ["--settings", json.dumps(SETTINGS | {"trials": 1}), "--block", os.path.basename(name)]
        assert main([*command, *block, "--out", name]) == 0
    return [*command, "--settings", json.dumps(SETTINGS), "--run-id", "run", "--blocks", *names]


def joining(blocks: list[str], folder: Path) -> list[str]:
    return [*blocks, "--out", str(folder / "run"), "--checkpoint", str(folder / "run.npz")]


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_stopped_joining_leaves_no_half_written_files(blocks, tmp_path, name):
    whole, ended = tmp_path / "whole", tmp_path / "ended"
    assert main(joining(blocks, whole)) == 0
    number = getattr(signal, name)
    code = 128 + number if number == signal.SIGTERM else -number
    output = run_cli(joining(blocks, ended), code=code, fault=f"{name} rename model.npz 1")
    assert set(contents(ended)) >= {"run/curve.parquet"}
    if number == signal.SIGTERM:
        assert output.splitlines()[-1] == "rbmbench: run: stopped while it was starting; run the same command again"
        assert set(contents(ended)) == {"run/curve.parquet"}
    assert main(joining(blocks, ended)) == 0
    assert contents(ended) == contents(whole)
    check_metas(ended)


def test_a_second_process_that_joins_the_same_blocks_raises(blocks, tmp_path, capsys):
    with locked(tmp_path / "run.npz"):
        assert main(joining(blocks, tmp_path)) == 2
    assert f"rbmbench: error: {tmp_path}/run.npz: in use by process {os.getpid()} on " in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_joining_on_a_full_or_read_only_disk_raises_a_one_line_error(blocks, tmp_path, capsys):
    assert main(joining(blocks, tmp_path)) == 0
    with small_disk(tmp_path / "disk", "4k") as disk:
        place, files = disk.folder / "place", joining(blocks, disk.folder / "place")
        for options, reason in (("size=4k", "no space left on device, "), ("ro", "read-only file system")):
            disk.remount(options)
            assert main(files) == 2
            line = capsys.readouterr().err.splitlines()[-1]
            assert ": cannot be written (" in line
            assert reason in line
            assert contents(disk.folder) == {}
        disk.remount("rw,size=64m")
        assert main(files) == 0
        assert contents(place) == {name: content for name, content in contents(tmp_path).items() if "disk/" not in name}
