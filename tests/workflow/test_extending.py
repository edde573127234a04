# SPDX-License-Identifier: BSD-3-Clause
"""The files and commands of docs/extending.md, written and run in a copy of the repository."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PARTS = ("Snakefile", "profiles", "workflow", "config", "notebooks", "benchmarks", "environment.yml", "src", "docs")


@pytest.fixture(scope="module")
def results(repository, tmp_path_factory) -> Path:
    """Return the results of a copy of the repository with the files and commands of the page."""
    folder = tmp_path_factory.mktemp("extending")
    for part in PARTS:
        source = repository / part
        ignored = shutil.ignore_patterns("*.pyc")
        shutil.copytree(source, folder / part, ignore=ignored) if source.is_dir() else shutil.copy(source, folder)
    programs = Path(sys.executable).parent
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    variables = os.environ | {"PATH": path, "PYTHONPATH": str(folder / "src")}
    for language, title, content in FENCE.findall((folder / "docs" / "extending.md").read_text("utf-8")):
        if title:
            (folder / title).write_text(content)
        elif language == "sh":
            done = subprocess.run(
                ["bash", "-e", "-c", content], cwd=folder, env=variables, capture_output=True, text=True
            )
            assert done.returncode == 0, content + done.stdout[-3000:] + done.stderr[-3000:]
    return folder / "results"


@pytest.mark.slow
def test_extensions_of_the_documentation_have_results(results):
    for scale, key in (("smoke", "popcd_figa"), ("smoke", "popcd_figf"), ("own", "own_fig1")):
        assert (results / scale / "figures" / f"{key}.png").read_bytes().startswith(b"\x89PNG")
    assert (results / "own" / "report" / "index.html").is_file()
    curves = pd.read_csv(results / "smoke" / "data" / "popcd_figa.csv")
    assert set(curves["label"]) == {"CD-1", "MF-CD-1"}
    assert set(pd.read_csv(results / "smoke" / "data" / "popcd_figf.csv")) == {"iteration", "pixel", "unit", "weight"}
    claims = pd.read_csv(results / "own" / "claims.csv")
    assert claims["claim"].tolist() == ["own_1", "own_2"]
    assert claims["measured"].notna().all()
