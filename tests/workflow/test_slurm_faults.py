# SPDX-License-Identifier: BSD-3-Clause
"""The workflow on a SLURM that does not answer or accepts no jobs, with stand-ins for SLURM's commands."""

import json
import os
from pathlib import Path

import pytest
import slurm_stand_in
from tiny_paper import FILES
from workspaces import SLURM, wait_for

LIMIT = "QOSMaxSubmitJobPerUserLimit"
MORE_THAN_THE_RETRIES = 6
PATIENT = {"seconds": 300.0, "pause": 0.1}
pytestmark = pytest.mark.slow


class StandIn:
    """SLURM's commands on the path, and the folder of `slurm_stand_in`."""

    def __init__(self, folder: Path, monkeypatch):
        self.folder = folder / "slurm"
        self.folder.mkdir()
        programs = folder / "programs"
        programs.mkdir()
        for name in slurm_stand_in.COMMANDS:
            (programs / name).symlink_to(slurm_stand_in.__file__)
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("SLURM_STAND_IN", str(self.folder))

    def calls(self, *words: str) -> list[list[str]]:
        """Return the calls, with their arguments, that begin with these words."""
        file = self.folder / "calls"
        calls = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        return [call for call in calls if call[: len(words)] == list(words)]

    def requests(self) -> list[tuple[str, str]]:
        """Return minutes and MB of all calls of sbatch that submit a job."""
        submitted = [call for call in self.calls("sbatch") if "--parsable" in call]
        return [(call[call.index("-t") + 1], call[call.index("--mem") + 1]) for call in submitted]


@pytest.fixture
def slurm(tmp_path_factory, monkeypatch) -> StandIn:
    """A stand-in for SLURM."""
    return StandIn(tmp_path_factory.mktemp("stand_in"), monkeypatch)


def data_set(workspace) -> str:
    """Return the data set of the tiny paper."""
    [name] = [name for name in workspace.planned(*FILES, "--", "tiny_fig1") if "/datasets/" in name]
    return name


def test_jobs_continue_while_the_controller_does_not_answer(slurm, tiny):
    process = tiny.start(*SLURM, *FILES, "--", data_set(tiny))
    wait_for(slurm.requests, process, **PATIENT)
    (slurm.folder / "away").touch()
    before = len(slurm.calls("scontrol"))
    # The plugin queries the configuration once before each query of its jobs, also after a failure.
    wait_for(lambda: len(slurm.calls("scontrol")) > before + 2, process, **PATIENT)
    (slurm.folder / "away").unlink()
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    assert len(slurm.requests()) == 1


def test_refused_submissions_are_repeated_with_the_same_request(slurm, tiny):
    (slurm.folder / "refusals").write_text(f"{LIMIT}\n" * MORE_THAN_THE_RETRIES)
    output = tiny.snakemake(*SLURM, *FILES, "--", data_set(tiny))
    assert f"waiting: SLURM accepts no jobs ({LIMIT}); next try in 1 s" in output
    assert slurm.requests() == [slurm.requests()[0]] * (MORE_THAN_THE_RETRIES + 1)


def test_cores_of_the_profile_limit_single_jobs(slurm, tiny):
    models = [name for name in tiny.planned(*FILES, "--", "tiny_fig1") if name.endswith("model.npz")]
    tiny.snakemake(*SLURM, *FILES, "--group-components", "short_runs=1", "--", *models)
    # The data set and two runs, with one CPU each.
    assert [int(file.read_text()) for file in sorted(slurm.folder.glob("*/at_once"))] == [1, 1, 2]


def test_permanently_refused_submissions_are_not_repeated(slurm, tiny):
    (slurm.folder / "refusals").write_text("Requested node configuration is not available\n" * MORE_THAN_THE_RETRIES)
    output = tiny.snakemake(*SLURM, *FILES, "--", data_set(tiny), code=1)
    assert "Requested node configuration is not available" in output
    assert len(slurm.requests()) == 1
