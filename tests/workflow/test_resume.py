# SPDX-License-Identifier: BSD-3-Clause
"""A training that is killed goes on where it was, to the same bytes."""

import json

import pytest
from workspaces import run_cli, start_cli, wait_for

from rbmbench.io.results import read_table


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["pcd", "parallel_tempering"])
def test_kill_and_resume_give_the_same_bytes(tmp_path, estimator):
    data = tmp_path / "bars.npz"
    run_cli(["data", "--name", "bars_and_stripes", "--out", str(data)])
    stage = {"until": 3000, "estimator": {"name": estimator}, "rate": 0.1}
    values = {"data": {"name": "bars_and_stripes"}, "hidden": 7, "batch": 11, "schedule": [stage], "trials": 3}
    (tmp_path / "settings.json").write_text(json.dumps({**values, "evaluate_every": 50}))

    def arguments(name):
        files = ["--out", str(tmp_path / name), "--checkpoint", str(tmp_path / f"{name}.ckpt.npz")]
        return ["train", "--settings", str(tmp_path / "settings.json"), "--data", str(data), "--run-id", name, *files]

    run_cli(arguments("whole"))
    process = start_cli(arguments("cut"))
    wait_for((tmp_path / "cut.ckpt.npz").exists, process)
    process.kill()
    process.communicate()
    assert not (tmp_path / "cut").exists()
    assert (tmp_path / "cut.ckpt.npz").exists()
    run_cli(arguments("cut"))
    assert (tmp_path / "cut/model.npz").read_bytes() == (tmp_path / "whole/model.npz").read_bytes()
    assert read_table(tmp_path / "cut", "curve.parquet").equals(read_table(tmp_path / "whole", "curve.parquet"))
    assert not (tmp_path / "cut.ckpt.npz").exists()
