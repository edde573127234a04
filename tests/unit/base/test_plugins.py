# SPDX-License-Identifier: BSD-3-Clause
"""Plug-ins in files and entry points: registration, error messages and fingerprints."""

import hashlib
import os
import sys

import numpy as np
import pytest

import rbmbench
from rbmbench import datasets, estimators
from rbmbench.base import plugins
from rbmbench.base.errors import SettingsError
from rbmbench.base.settings import RunSettings
from rbmbench.config.loading import load
from rbmbench.jobs.fingerprints import UNKNOWN, fingerprint, recipe_fingerprint

INCOMPLETE = """
from rbmbench.config.paper import KINDS
from rbmbench.{0} import REGISTRY, {1}


@REGISTRY.register
class Own({1}):
    pass
"""
KIND = """
from rbmbench.config.paper import KINDS
from rbmbench.planning.kinds import Kind
from rbmbench.planning.specs import FigureSpec

class OwnSpec(FigureSpec):
    pass

@KINDS.register
class Own(Kind):
    SPEC = OwnSpec
    def plan(self, planner, key): ...
"""
ESTIMATOR = '''"""CD-k, by another name.

More.
"""

from rbmbench.estimators import REGISTRY
from rbmbench.estimators.cd import CD


@REGISTRY.register
class Mine(CD):
    """Contrastive divergence."""
'''
SHARING = ESTIMATOR.replace("\n\n@REG", "\n\nfrom ._shared import STEPS\n\n@REG") + (
    "    def __init__(self, k: int = STEPS):\n        super().__init__(k + STEPS - 1)\n"
)
DATA = '''"""Zeros and ones."""
import numpy as np
from dataclasses import dataclass
from rbmbench.datasets import REGISTRY
from rbmbench.datasets._recipe import Recipe

@REGISTRY.register
@dataclass(frozen=True)
class Checks(Recipe):
    def load(self, _sources=None):
        return self.build("Checks", train=np.eye(5), preprocessing="none")
'''
pytestmark = pytest.mark.usefixtures("no_plugins")


@pytest.fixture
def folder(tmp_path):
    """A folder with two plug-ins, a module that one of them imports, and a test."""
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "mine.py").write_text(SHARING)
    (tmp_path / "plugins" / "_shared.py").write_text("STEPS = 1\n")
    (tmp_path / "plugins" / "checks.py").write_text(DATA)
    (tmp_path / "plugins" / "test_mine.py").write_text("raise RuntimeError('imported')\n")
    return tmp_path / "plugins"


def error_of(text: str, file) -> str:
    file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        plugins.load_plugins(file)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"plug-in {file}: ")
    return str(caught.value)


def test_plugins_of_a_folder_are_registered_by_name(folder):
    rbmbench.load_plugins(folder)
    assert "mine" in estimators.REGISTRY.names()
    assert "checks" in datasets.REGISTRY.names()
    assert estimators.REGISTRY.options("mine") == {"k": 1}
    assert estimators.REGISTRY.summary("mine") == "CD-k, by another name."
    assert estimators.REGISTRY.origin("mine") == str(folder / "mine.py")
    assert estimators.REGISTRY.origin("cd") == "rbmbench"
    rows, options = datasets.load("checks").train, {"hidden": 3, "batch": 5, "iterations": 7, "backend": "numpy"}
    mine, cd = (rbmbench.train(rows, estimator=name, **options).rbm.W for name in ("mine", "cd"))
    assert np.array_equal(mine, cd)


def test_environment_variable_lists_plugins_for_other_processes(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    plugins.load_plugins("plugins/mine.py")
    assert plugins.name_for_processes(["plugins"]) == os.pathsep.join([str(folder), str(folder / "mine.py")])
    assert "checks" in datasets.REGISTRY.names()


def test_a_loaded_plugin_is_not_loaded_again(folder):
    plugins.load_plugins(folder)
    first = estimators.REGISTRY.get("mine")
    plugins.load_plugins(folder / "mine.py", folder)
    assert estimators.REGISTRY.get("mine") is first


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\nimport not_there\n", "cannot be imported (ModuleNotFoundError: No module named 'not_there', in line 2 of "),
        ("x = (\n", "cannot be imported (SyntaxError: '(' was never closed"),
        ("raise SystemExit(3)\n", "cannot be imported (SystemExit: 3, in line 1 of own.py)"),
        ("x = 1\n", "registers nothing; allowed: a Python file that registers a part by @REGISTRY.register"),
        (ESTIMATOR + ESTIMATOR.replace("Mine", "Other"), "registers the estimator 'own', which is in "),
        (INCOMPLETE.format("estimators", "Estimator"), "(TypeError: Own must define negative_phase, in line "),
        (INCOMPLETE.format("samplers", "Sampler"), "(TypeError: Own must define draw, start, in line "),
        (INCOMPLETE.format("updates", "UpdateRule"), "(TypeError: Own must define step, in line "),
        (INCOMPLETE.format("jobs", "Measurement"), "(TypeError: Own must define measure, probe, work, Settings, "),
        (
            INCOMPLETE.replace("REGISTRY, ", "").format("planning.kinds", "Kind").replace("@REGISTRY", "@KINDS"),
            "(TypeError: Own must define plan, SPEC, in line ",
        ),
        (KIND, "(TypeError: Own must define SPEC.caption, SPEC.chart, SPEC.numbers, SPEC.read, SPEC.sources, in line "),
    ],
)
def test_an_invalid_plugin_raises_one_line_and_is_not_registered(tmp_path, text, reason):
    message = error_of(text, tmp_path / "own.py")
    assert reason in message
    assert "allowed: " in message
    assert "own" not in estimators.REGISTRY.names()
    assert not plugins.used()


def test_plugins_of_all_configuration_files_are_loaded(folder, tmp_path, repository):
    files = [repository / "config" / "config.yaml"]
    for name in ("mine", "checks"):
        files.append(tmp_path / f"{name}.yaml")
        files[-1].write_text(f"plugins: ['{folder / name}.py']\npapers: [cd_bias_bound]\n")
    load(files)
    assert {"mine"} <= set(estimators.REGISTRY.names())
    assert {"checks"} <= set(datasets.REGISTRY.names())
    files[-1].write_text("plugins: [not_there.py]\n")
    with pytest.raises(SettingsError, match=f"^{files[-1]}: plugins: plug-in not_there.py: must .*, got nothing"):
        load(files)


def test_a_plugin_with_a_registered_name_raises(tmp_path, folder):
    line = error_of(ESTIMATOR, tmp_path / "cd.py")
    assert "registers the estimator 'cd', which is in rbmbench itself already; allowed: " in line
    assert estimators.REGISTRY.get("cd").__module__ == "rbmbench.estimators.cd"
    plugins.load_plugins(folder)
    assert f"'mine', which is in {folder / 'mine.py'} already" in error_of(ESTIMATOR, tmp_path / "mine.py")


@pytest.mark.parametrize("name", ["Mine.py", "my-own.py", "2nd.py"])
def test_invalid_file_names_raise(tmp_path, name):
    assert "small letters, digits and _" in error_of(ESTIMATOR, tmp_path / name)


def test_paths_without_plugins_raise(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.txt").write_text("text")
    for path, kind in {"none": "nothing", "empty": "a folder without Python files", "text.txt": "something"}.items():
        with pytest.raises(SettingsError, match=f"^plug-in .*{path}: must be a Python file .*, got {kind}"):
            plugins.load_plugins(tmp_path / path)


def test_used_plugins_have_the_checksum_of_the_imported_code(folder):
    plugins.load_plugins(folder)
    assert plugins.used() == []
    estimators.create("mine")
    digest = hashlib.sha256()
    for name in ("mine.py", "_shared.py"):
        content = (folder / name).read_bytes()
        digest.update(f"{name} {len(content)} ".encode() + content)
    (folder / "mine.py").write_text("changed afterwards")
    assert plugins.used() == [{"name": "mine", "file": "mine.py", "sha256": digest.hexdigest()}]


def run(estimator: str) -> RunSettings:
    stage = {"until": 500, "estimator": {"name": estimator, "options": {"k": 1}}, "rate": 0.01}
    return RunSettings.model_validate({"data": {"name": "mnist"}, "hidden": 5, "batch": 50, "schedule": [stage]})


def test_fingerprints_depend_on_the_code_of_a_plugin_not_on_its_folder(folder, tmp_path, monkeypatch, request):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # Compiled code is used again after a change of the same size within the same second.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    fingerprints = {}
    for change in ("as it is", "elsewhere", "a remark", "another formula"):
        folder = folder if change == "as it is" else folder.rename(tmp_path / change.replace(" ", "_"))
        if change == "a remark":
            (folder / "mine.py").write_text(f"# A remark.\n{SHARING}")
            (folder / "checks.py").write_text(f"# A remark.\n{DATA}")
        if change == "another formula":
            (folder / "_shared.py").write_text("STEPS = 2\n")
            (folder / "checks.py").write_text(DATA.replace("eye(5)", "eye(7)"))
        forget = request.getfixturevalue("forget_plugins")
        forget()
        plugins.load_plugins(folder)
        fingerprints[change] = fingerprint(run("mine"), 83), recipe_fingerprint("checks")
    assert UNKNOWN not in fingerprints["as it is"]
    assert fingerprints["as it is"] == fingerprints["elsewhere"] == fingerprints["a remark"]
    assert all(old != new for old, new in zip(fingerprints["as it is"], fingerprints["another formula"], strict=True))


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Return a function that installs a package with an entry point."""

    def install(package: str, point: str, text: str = ESTIMATOR, module: str = "") -> None:
        folder = tmp_path / package
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").touch()
        (folder / package / f"{point}.py").write_text(text)
        about = folder / f"{package}-7.1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 7.1\n")
        lines = f"[rbmbench.estimators]\n{point} = {package}.{module or point}\n"
        (about / "entry_points.txt").write_text(lines)
        monkeypatch.syspath_prepend(folder)
        plugins.entry_points.cache_clear()

    return install


def test_entry_points_are_listed_without_importing_them(installed):
    installed("orchard_a", "apple")
    installed("orchard_b", "pear", "import not_there\n")
    assert {"apple", "pear"} <= set(estimators.REGISTRY.names())
    assert estimators.REGISTRY.origin("apple") == "entry point apple of orchard_a 7.1"
    estimators.create("apple", k=2)
    (plugin,) = plugins.used()
    assert len(plugin.pop("sha256")) == 64
    assert plugin == {"name": "apple", "package": "orchard_a", "version": "7.1"}
    line = r"^plug-in entry point pear of orchard_b 7.1: cannot be imported .*'not_there'.*; allowed: a module"
    with pytest.raises(SettingsError, match=line):
        estimators.create("pear")


def test_entry_points_with_a_registered_name_raise(installed, tmp_path):
    installed("orchard_c", "plum")
    with pytest.raises(SettingsError, match=r"'plum', which is in entry point plum of orchard_c 7.1 already"):
        plugins.load_plugins(write(tmp_path / "plum.py", ESTIMATOR))
    installed("orchard_d", "plum")
    with pytest.raises(SettingsError, match=r"must be in one package, got entry point plum of orchard_\w 7.1, too"):
        estimators.REGISTRY.names()


def test_an_entry_point_with_the_name_of_a_part_of_rbmbench_raises(installed):
    installed("orchard_e", "pcd")
    with pytest.raises(SettingsError, match=r"^plug-in entry point pcd of orchard_e 7.1: .* in rbmbench itself"):
        estimators.REGISTRY.get("cd_")


def test_an_entry_point_whose_module_has_another_name_raises(installed):
    installed("orchard_f", "quince", module="__init__")
    with pytest.raises(SettingsError, match="registers no estimator of this name; allowed: a module of this name"):
        estimators.create("quince")


def write(file, text):
    file.write_text(text)
    return file
