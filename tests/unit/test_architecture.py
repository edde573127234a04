# SPDX-License-Identifier: BSD-3-Clause
"""Structure of the package: imports between packages, and sizes of files and packages."""

import re
import tomllib
from collections import Counter
from importlib.util import find_spec

import pytest

LONGEST_FILE = 500
MOST_FILES = 16
"""Of a package, except those with one part per file: estimators, data sets, samplers."""


@pytest.fixture(scope="module")
def package(repository):
    return repository / "src" / "rbmbench"


def test_imports_point_down(repository, monkeypatch):
    if find_spec("importlinter") is None:
        pytest.skip("import-linter is not installed")
    from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

    status = lint_imports(config_filename=str(repository / "pyproject.toml"), no_cache=True, is_debug_mode=False)
    assert status == EXIT_STATUS_SUCCESS


def test_tree_in_the_documentation_is_up_to_date(package, repository):
    page = (repository / "docs" / "architecture.md").read_text(encoding="utf-8")
    printed = re.findall(r"^  (\w+)/ ", page[page.index("src/rbmbench/\n") :].split("```")[0], re.MULTILINE)
    assert sorted(printed) == sorted(path.parent.name for path in package.glob("*/__init__.py"))
    order = tomllib.loads((repository / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]
    floors = [{name.strip() for name in layer.split("|")} for layer in reversed(order)]
    floor_of = {name: floor for floor, names in enumerate(floors) for name in names}
    assert [floor_of[name] for name in printed] == sorted(floor_of[name] for name in printed)


def test_all_modules_are_in_packages(package):
    assert sorted(path.name for path in package.glob("*.py")) == ["__init__.py", "__main__.py"]


def test_folders_of_unit_tests_are_those_of_packages(package, repository):
    folders = {path.name for path in (repository / "tests" / "unit").iterdir() if path.name != "__pycache__"}
    packages = {path.name for path in package.iterdir() if path.is_dir()} | {"conformance"}
    assert {name for name in folders if "." not in name} <= packages


def test_files_and_packages_are_small(package, repository):
    sources = sorted(package.rglob("*.py"))
    files = [*sources, repository / "workflow/Snakefile", *(repository / "workflow").rglob("*.smk")]
    lengths = {str(path.relative_to(repository)): len(path.read_text().splitlines()) for path in files}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}
    counts = Counter(path.parent.relative_to(package).as_posix() for path in sources)
    large = {name for name, count in counts.items() if count > MOST_FILES}
    assert large <= {"datasets", "estimators", "kinds", "samplers", "reporting"}
