# SPDX-License-Identifier: BSD-3-Clause
"""The Makefile, with stand-ins for Python and Snakemake that record their arguments."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

RECORDED = '#!/bin/sh\nprintf "%s\\n" "$@" >> calls\n'
# A Python that creates virtual environments with pip.
PYTHON = r"""#!/bin/sh
echo "$2 $3" >> calls
if [ "$2" = venv ]; then
    mkdir -p "$3/bin"
    echo "#!/bin/sh" > "$3/bin/python"
    chmod +x "$3/bin/python"
fi
"""


@pytest.fixture
def checkout(repository, tmp_path) -> Path:
    """A folder with the Makefile and a configuration, without an environment."""
    shutil.copyfile(repository / "Makefile", tmp_path / "Makefile")
    for name in ("requirements.lock", "pyproject.toml"):
        (tmp_path / name).touch()
    (tmp_path / "config").mkdir()
    (tmp_path / "config/tiny.yaml").write_text("scale: tiny\n")
    return tmp_path


@pytest.fixture
def installed(checkout) -> Path:
    """The same with a Snakemake that records its arguments, one per line."""
    (checkout / ".venv/bin").mkdir(parents=True)
    program(checkout / ".venv/bin/snakemake", RECORDED)
    (checkout / ".venv/.installed").touch()
    return checkout


def program(file: Path, content: str) -> None:
    file.write_text(content)
    file.chmod(0o755)


def make(folder: Path, *arguments: str) -> str:
    """Return the output of make, which must succeed."""
    # Only PATH is kept, as the tests may run under make, with another folder for VENV.
    variables = {"PATH": os.environ["PATH"]}
    done = subprocess.run(["make", *arguments], cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def after(folder: Path, option: str) -> str:
    """Return the argument of Snakemake that follows an option."""
    calls = (folder / "calls").read_text().splitlines()
    return calls[calls.index(option) + 1]


@pytest.mark.parametrize(
    "name", ["x.yaml;touch$IFS''y;#.yaml", "$(touch${IFS}y).yaml", "$(shell${IFS}touch).yaml", "it's.yaml"]
)
def test_names_of_configurations_are_not_run_by_a_shell(installed, name):
    (installed / "config" / name).write_text("scale: own  # ours\n")
    before = sorted(os.listdir(installed))
    make(installed, "figures", f"CONFIGFILE=config/{name}", f"TARGETS={name}")
    assert sorted({*os.listdir(installed)} - {"calls"}) == before
    assert after(installed, "--configfile") == f"config/{name}"
    assert after(installed, "--") == name


def test_make_passes_several_configurations_and_targets(installed):
    (installed / "config/more.yaml").write_text("overrides: {}\n")
    make(installed, "figures", "CONFIGFILE=config/tiny.yaml config/more.yaml", "TARGETS=tiny_fig1 claims")
    assert after(installed, "config/tiny.yaml") == "config/more.yaml"
    assert after(installed, "tiny_fig1") == "claims"


@pytest.mark.parametrize("script", [None, "exit 1"], ids=["nothing", "Python without pip"])
def test_an_environment_without_pip_is_created_again(checkout, script):
    program(checkout / "python", PYTHON)
    if script:
        (checkout / ".venv/bin").mkdir(parents=True)
        program(checkout / ".venv/bin/python", f"#!/bin/sh\n{script}\n")
    make(checkout, ".venv/.installed", f"PYTHON={checkout}/python")
    assert "venv .venv\n" in (checkout / "calls").read_text()


def test_make_install_only_installs(installed):
    (installed / ".venv/.installed").unlink()
    program(installed / ".venv/bin/python", "#!/bin/sh\n")
    program(installed / "python", "#!/bin/sh\n")
    before = {path.name for path in installed.iterdir()}
    assert make(installed, "install", f"PYTHON={installed}/python").startswith("Installing the pinned packages")
    assert (installed / ".venv/.installed").exists()
    assert {path.name for path in installed.iterdir()} == before  # no calls of Snakemake
    assert make(installed, "install") == ""


def test_an_environment_with_pip_is_kept(checkout):
    program(checkout / "python", PYTHON)
    (checkout / ".venv/bin").mkdir(parents=True)
    program(checkout / ".venv/bin/python", "#!/bin/sh\n# kept\n")
    make(checkout, ".venv/.installed", f"PYTHON={checkout}/python")
    assert "kept" in (checkout / ".venv/bin/python").read_text()
