# SPDX-License-Identifier: BSD-3-Clause
"""Bundles of short jobs: jobs of a bundle, and equality with jobs computed alone."""

import json
import shlex
import time

import pytest
from core_helpers import binary_data
from planned import planned_here

from rbmbench import datasets
from rbmbench.cli import main
from rbmbench.io import provenance, results
from rbmbench.jobs import of_name
from rbmbench.model.work import default_seconds
from rbmbench.planning.bundles import MOST_JOBS, SHORT_SECONDS, bundles_of

STAGE = {"until": 12, "estimator": {"name": "cd"}, "rate": 0.1}
RUN = {"data": {"name": "made"}, "hidden": 5, "batch": 7, "schedule": [STAGE], "trials": 3}


@pytest.fixture(params=["smoke", "desktop", "paper"], scope="module")
def planned(request):
    return planned_here(*([] if request.param == "paper" else [request.param]))


def test_a_bundle_has_short_jobs_of_one_kind_and_the_same_outputs(planned):
    bundles = bundles_of(planned)
    assert bundles
    needed = [set(planned.needed(output)) for output in planned.outputs.values()]
    for bundle in bundles:
        ids = {job.id for job in bundle.jobs}
        assert 2 <= len(ids) <= MOST_JOBS
        assert len({job.kind for job in bundle.jobs}) == 1
        assert all(ids <= names or not ids & names for names in needed)
        for job in bundle.jobs:
            assert default_seconds(of_name(job.kind).work(job.settings, planned.sizes(job))) <= SHORT_SECONDS
            assert not ids & set(planned.before(job))
    bundled = [job.id for bundle in bundles for job in bundle.jobs]
    assert len(bundled) == len(set(bundled))


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Return a function that returns the subcommand of a run with a seed."""
    monkeypatch.setattr(provenance, "_restarted", None)
    made = datasets.build("made", "Made", train=binary_data(29, 11), source="test", preprocessing="none", options={})
    datasets.save(made, tmp_path / "data.npz")

    def command(seed, name, **changes):
        settings = json.dumps(RUN | {"seed": seed} | changes)
        files = ["--data", str(tmp_path / "data.npz"), "--out", str(tmp_path / name), "--run-id", str(seed)]
        return ["job", "train", "--settings", settings, *files]

    return command


def test_a_bundle_writes_the_files_of_its_jobs_run_alone(command, tmp_path):
    for seed in (3, 5):
        assert main(command(seed, f"alone{seed}")) == 0
    assert main(["bundle", *(shlex.join(command(seed, f"bundled{seed}")) for seed in (3, 5))]) == 0
    for seed in (3, 5):
        alone, bundled = tmp_path / f"alone{seed}", tmp_path / f"bundled{seed}"
        assert all((alone / name).read_bytes() == (bundled / name).read_bytes() for name in of_name("train").files)
        assert results.read_meta(alone)["run"] == results.read_meta(bundled)["run"]


def test_time_of_a_job_starts_at_the_end_of_the_previous_one(command, tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "_restarted", time.monotonic() - 10_000)
    assert main(["bundle", *(shlex.join(command(seed, str(seed))) for seed in (3, 5))]) == 0
    first, second = (results.read_meta(tmp_path / seed)["wall"]["total_seconds"] for seed in ("3", "5"))
    assert first > 10_000
    assert second < 100


def test_a_bundle_stops_at_a_job_that_fails(command, tmp_path, capfd):
    bad = shlex.join(command(5, "bad", hidden=0))
    assert main(["bundle", shlex.join(command(3, "first")), bad, shlex.join(command(7, "last"))]) == 2
    assert "hidden" in capfd.readouterr().err
    assert (tmp_path / "first/meta.json").is_file()
    assert not (tmp_path / "last").exists()
