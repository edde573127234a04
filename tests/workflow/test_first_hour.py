# SPDX-License-Identifier: BSD-3-Clause
"""The steps of docs/first_hour.md in an empty folder, with the package installed from a wheel."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = ("src", "setup.py", "pyproject.toml", "README.md", "LICENSE")
SNAKEFILE = re.compile(r'^```python title="Snakefile"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def installed(repository, tmp_path_factory) -> Path:
    """Return a folder with the package installed from a wheel, without its dependencies."""
    pytest.importorskip("setuptools", minversion="77")
    source, dist, site = (tmp_path_factory.mktemp(name) for name in ("source", "dist", "site"))
    for part in SOURCES:
        copy = shutil.copytree if (repository / part).is_dir() else shutil.copyfile
        copy(repository / part, source / part)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(dist), str(source)], check=True)
    (wheel,) = dist.glob("rbmbench-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", str(site), str(wheel)], check=True)
    return site


class Shell:
    """Command lines in a folder, with the installed package."""

    def __init__(self, folder: Path, site: Path):
        programs = os.pathsep.join([str(site / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        own = {"PATH": programs, "PYTHONPATH": str(site), "XDG_CACHE_HOME": str(folder / ".cache")}
        dropped = ("PYTEST", "SNAKEMAKE", "RBMBENCH_PLUGINS")
        self._variables = {name: value for name, value in os.environ.items() if not name.startswith(dropped)} | own
        self.folder = folder

    def run(self, line: str) -> str:
        """Run a command line, which must succeed, and return its output."""
        done = subprocess.run(
            ["bash", "-e", "-c", line],
            cwd=self.folder,
            env=self._variables,
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout + done.stderr


@pytest.mark.slow
def test_steps_of_the_first_hour_lead_to_a_page(repository, installed, tmp_path):
    shell = Shell(tmp_path, installed)
    place = shell.run("python -c 'import rbmbench; print(rbmbench.__file__)'").strip()
    assert Path(place).is_relative_to(installed)
    install, begin, look, run = COMMANDS.findall((repository / "docs/first_hour.md").read_text("utf-8"))

    assert re.search(r"^rbmbench \d", shell.run(install))
    printed = shell.run(begin)
    assert re.search(r"\d passed", printed)
    assert "--configfile plugins/fading_cd.yaml" in printed
    assert "  fading_cd  (plugins/fading_cd.py)" in shell.run(look)

    [module] = SNAKEFILE.findall((repository / "docs/first_hour.md").read_text("utf-8"))
    (tmp_path / "Snakefile").write_text(module.replace("/path/to/rbmbench", str(repository)))
    shell.run(run)
    results = tmp_path / "results" / "fading_cd"
    metas = [json.loads(file.read_text()) for file in sorted(results.glob("runs/*/meta.json"))]
    assert [[plugin["name"] for plugin in meta["plugins"]] for meta in metas].count(["fading_cd"]) == 1
    assert len(metas) == 3
    page = (results / "report" / "index.html").read_text("utf-8")
    assert "plug-in fading_cd (fading_cd.py, sha256 " in page
    assert "fading_cd beside CD and PCD" in page
    assert (results / "figures" / "popcd_figown.png").read_bytes().startswith(b"\x89PNG")

    file = tmp_path / "plugins" / "fading_cd.py"
    file.write_text(file.read_text().replace("self.fading ** np", "0.9 * self.fading ** np"))  # weights are normalised
    again = shell.run(f"{run.splitlines()[-1]} --dry-run --quiet rules host")
    assert "train_run" not in again
    assert "bundle" not in again
    file.write_text(file.read_text().replace("0.9 * self.fading", "(0.9 * self.fading)"))
    again = shell.run(f"{run.splitlines()[-1]} --dry-run --quiet rules host")
    assert re.search(r"^bundle_\S+ +1$", again, re.MULTILINE)
