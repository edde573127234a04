# SPDX-License-Identifier: BSD-3-Clause
"""Sections of ``rbmbench doctor`` and the states of their findings."""

import hashlib
import json
import os
import re
import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from rbmbench import kernels
from rbmbench.cli import doctor, main
from rbmbench.cli.doctor import FAILED, OK, WARNING, Finding
from rbmbench.datasets import _downloads
from rbmbench.datasets._downloads import Entry, File
from rbmbench.kernels import backends, ways

TITLES = ("Versions", "Machine", "GPU", "Environment variables", "Backend", "Data sets", "Folders")
CONTENT = b"rows of a data set"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("RBMBENCH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RBMBENCH_DATA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def no_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)


def by_name(findings) -> dict[str, Finding]:
    return {finding.subject: finding for finding in findings}


def quick(capsys, *arguments) -> tuple[int, dict]:
    """Return the exit code and the JSON of an examination without the self-test."""
    code = main(["doctor", "--quick", "--json", *arguments])
    return code, json.loads(capsys.readouterr().out)


def test_sections_are_the_same_as_text_and_json(capsys, tmp_path, no_cupy):
    results = ["--results", str(tmp_path / "results")]
    code, report = quick(capsys, *results)
    assert (code, report["failed"], tuple(report["sections"])) == (0, False, TITLES)
    assert all(lines for lines in report["sections"].values())
    assert main(["doctor", "--quick", *results]) == 0
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if line in TITLES] == list(TITLES)
    assert printed.rstrip().splitlines()[-1] == report["verdict"]
    assert report["verdict"].startswith("ok: ")
    assert not (tmp_path / "results").exists()
    assert not (tmp_path / "cache").exists()


def test_findings_on_machine_and_software(capsys, no_cupy):
    sections = quick(capsys)[1]["sections"]
    findings = {line["subject"]: line for lines in sections.values() for line in lines}
    assert findings["numpy"]["result"] == np.__version__
    assert findings["python"]["result"] == ".".join(map(str, sys.version_info[:3]))
    assert re.fullmatch(rf"[1-9]\d* usable of {os.cpu_count()}", findings["cores"]["result"])
    assert re.fullmatch(r"[\d.]+ GB free of [\d.]+ GB", findings["memory"]["result"])
    assert "CuPy is not installed" in findings["GPU"]["result"]
    assert "is not installed" in findings["auto, tiny model (16x16, 25 trials)"]["result"]


def test_exit_status_is_1_after_a_failure_and_0_after_a_warning(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("RBMBENCH_DATA_MIROR", "a name with a slip")
    code, report = quick(capsys)
    warned = [line for line in report["sections"]["Environment variables"] if line["state"] == WARNING]
    assert (code, [line["subject"] for line in warned]) == (0, ["RBMBENCH_DATA_MIROR"])
    code, report = quick(capsys, "--mirror", str(tmp_path / "missing"))
    assert (code, report["failed"]) == (1, True)
    assert "no such folder" in report["sections"]["Data sets"][0]["result"]


def test_a_section_that_raises_has_failed_and_others_are_shown(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "psutil", None)
    code, report = quick(capsys)
    assert code == 1
    [line] = [line for lines in report["sections"].values() for line in lines if line["state"] == FAILED]
    assert line["subject"] == "Machine"
    assert line["result"].startswith("could not be examined (ModuleNotFoundError: import of psutil halted")
    assert tuple(report["sections"]) == TITLES


def test_every_environment_variable_is_listed(repository):
    workflow = [*(repository / "workflow").rglob("*.smk"), repository / "workflow/Snakefile"]
    sources = [*(repository / "src").rglob("*.py"), *workflow]
    text = "".join(file.read_text() for file in sources)
    assert set(re.findall(r"RBMBENCH_[A-Z_]+[A-Z]", text)) == set(doctor.OWN_VARIABLES)


def test_seconds_between_checkpoints_that_are_no_number_are_a_failure(monkeypatch):
    monkeypatch.setenv("RBMBENCH_CHECKPOINT_SECONDS", "7.5")
    assert not any(finding.state for finding in doctor.backend())
    monkeypatch.setenv("RBMBENCH_CHECKPOINT_SECONDS", "soon")
    *_, finding = doctor.backend()
    assert finding == ("environment", "RBMBENCH_CHECKPOINT_SECONDS: must be from 0 to inf, got 'soon'", FAILED)


def test_a_password_is_not_shown(monkeypatch):
    monkeypatch.setenv("RBMBENCH_DATA_MIRROR", "https://someone:secret@mirror.example/sets")
    findings = by_name(doctor.environment())
    assert findings["RBMBENCH_DATA_MIRROR"].result == "https://mirror.example/sets"
    assert not any("secret" in finding.result for finding in doctor.data_sets(None, None))


def test_notebooks_that_cannot_run_are_a_warning(monkeypatch):
    assert "notebooks" not in by_name(doctor.versions())
    monkeypatch.setattr(kernels, "is_installed", lambda name: name != "IPython")
    finding = by_name(doctor.versions())["notebooks"]
    assert (finding.state, "IPython not installed" in finding.result) == (WARNING, True)


# GPUs and backends.


class Runtime:
    """CUDA runtime of CuPy, with two devices."""

    getDeviceCount = staticmethod(lambda: 2)

    @staticmethod
    def getDeviceProperties(number):
        return {"name": b"Device %d" % number, "totalGlobalMem": 3 * 2**30}


@pytest.fixture
def gpu(monkeypatch):
    """Replace CuPy by a module with two devices."""
    cupy = SimpleNamespace(__name__="cupy", cuda=SimpleNamespace(runtime=Runtime))
    monkeypatch.setattr(backends, "gpu_obstacle", lambda: None)
    monkeypatch.setattr(backends, "import_module", lambda name: cupy if name == "cupy" else np)


@pytest.mark.usefixtures("gpu")
def test_devices_are_described():
    assert by_name(doctor.gpus())["GPU 1"].result == "Device 1, 3.0 GB"


@pytest.mark.usefixtures("gpu")
def test_backend_is_the_gpu_for_large_models_only():
    tiny, large = doctor.backend()
    assert (tiny.result.split()[0], large.result.split()[0]) == ("numpy", "cupy")
    assert "operations per iteration" in tiny.result


def test_a_gpu_without_cupy_is_a_warning(monkeypatch, tmp_path, no_cupy):
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho Device\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    [device] = doctor.gpus()
    assert device.state == WARNING
    assert device.result.startswith("Device, but CuPy is not installed: install CuPy")
    program.write_text("#!/bin/sh\nexit 9\n")
    assert [finding.result for finding in doctor.gpus()] == ["none: CuPy is not installed"]


def test_slow_kernels_are_a_warning(monkeypatch, no_cupy):
    assert not any(finding.state for finding in doctor.backend())
    monkeypatch.setattr(kernels, "backend_name", lambda array: "numpy")
    assert [finding.state for finding in doctor.backend()] == ["", "", WARNING]


@pytest.mark.usefixtures("no_cupy")
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("RBMBENCH_BACKEND", "cupy", "CuPy is not installed"),
        ("RBMBENCH_BACKEND", "gpu", "must be one of auto, numpy, cupy"),
        ("RBMBENCH_FUSED", "maybe", "RBMBENCH_FUSED"),
        ("RBMBENCH_PRODUCTS", "tabels", "must be one of auto, library, tables, got 'tabels'"),
    ],
)
def test_an_unavailable_or_unknown_backend_has_failed(monkeypatch, name, value, message):
    monkeypatch.setenv(name, value)
    with ways.by_hand(value if name == ways.VARIABLE else "auto"):  # the variable is read once, at the import
        *_, last = doctor.backend()
    assert last.state == FAILED
    assert message in last.result


# Data sets.


@pytest.fixture
def declared(monkeypatch):
    """Declare a data set of one file, and an alternative to this file."""
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    common = {"folder": "made", "bytes": len(CONTENT), "sha256": sha256}
    files = (
        File(name="rows.txt", addresses=("http://one.example/rows.txt", "http://two.example/rows.txt"), **common),
        File(name="rows.zip", addresses=(), instead_of="rows.txt", **common),
    )
    monkeypatch.setattr(_downloads, "catalogue", lambda: {"made": Entry("nobody", "none", files)})


def put(folder, content, name="rows.txt"):
    (folder / "made").mkdir(parents=True, exist_ok=True)
    (folder / "made" / name).write_bytes(content)
    return str(folder)


def of_file(findings) -> Finding:
    [data_set] = [finding for finding in findings if finding.subject.startswith("made: ")]
    return data_set


@pytest.mark.usefixtures("declared")
@pytest.mark.parametrize("name", ["rows.txt", "rows.zip"])
def test_files_are_found_in_mirror_and_cache(tmp_path, name):
    mirror, cache = put(tmp_path / "a", CONTENT, name), put(tmp_path / "b", CONTENT, name)
    findings = list(doctor.data_sets(mirror, cache))
    assert of_file(findings).subject == f"made: {name}"
    assert (of_file(findings).state, of_file(findings).result) == (OK, "mirror, 0.0 MB")
    findings = list(doctor.data_sets(None, cache))
    assert (of_file(findings).state, of_file(findings).result) == (OK, "cache, 0.0 MB")
    assert not any(finding.state == WARNING for finding in findings)


@pytest.mark.usefixtures("declared")
def test_files_with_a_wrong_checksum(tmp_path):
    wrong = put(tmp_path / "a", b"x" * len(CONTENT))
    finding = of_file(doctor.data_sets(wrong, None))
    assert (finding.state, "wrong checksum" in finding.result) == (FAILED, True)
    # A wrong file in the cache is downloaded again.
    finding = of_file(doctor.data_sets(None, wrong))
    assert (finding.state, "wrong checksum" in finding.result) == (WARNING, True)


@pytest.mark.usefixtures("declared")
def test_a_download_is_a_warning():
    findings = list(doctor.data_sets(None, None))
    assert of_file(findings).result == "would be downloaded, 0.0 MB"
    assert (findings[-1].state, findings[-1].result) == (WARNING, "1 files, 0.0 MB or more, need a network")


# Folders.


def test_folders_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    findings = by_name(doctor.folders(tmp_path / "file" / "results", None, str(tmp_path / "file" / "cache")))
    assert (findings["results"].state, findings["downloads"].state) == (FAILED, WARNING)
    assert "not a directory" in findings["results"].result


@pytest.mark.parametrize(("free", "state"), [(2**30 - 1, WARNING), (2**30, OK)])
def test_little_free_space_is_a_warning(monkeypatch, tmp_path, free, state):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    finding = by_name(doctor.folders(tmp_path, None, None))["results"]
    assert (finding.state, finding.result.startswith(f"{tmp_path}: writable, 1.0 GB free")) == (state, True)
