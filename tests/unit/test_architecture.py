"""Imports of the package point down the floors, without cycles, and every file is one room."""

import ast
from pathlib import Path

import pytest

LONGEST_FILE = 350

# The floor of every module and subpackage; a file imports from its own floor or from floors below.
FLOORS = {
    "backends": 1,
    "errors": 0,
    "files": 0,
    "kernels": 0,
    "locks": 0,
    "options": 0,
    "parsing": 0,
    "reading": 0,
    "pace": 0,
    "provenance": 0,
    "registry": 0,
    "settings": 0,
    "streams": 0,
    "evaluation": 3,
    "minibatches": 1,
    "gibbs": 1,
    "model": 1,
    "datasets": 2,
    "estimators": 2,
    "likelihood": 2,
    "samplers": 2,
    "updates": 2,
    "annealed": 3,
    "bias": 3,
    "bias_bound": 3,
    "checkpoint": 3,
    "coupling": 3,
    "loop": 3,
    "resident": 3,
    "sampling": 3,
    "shards": 3,
    "timed_steps": 3,
    "training": 3,
    "config_parts": 4,
    "config_samples": 4,
    "config_schema": 4,
    "configuration": 4,
    "experiments": 4,
    "meta": 4,
    "metrics": 4,
    "planned": 4,
    "plans": 4,
    "store": 4,
    "doctor": 5,
    "forecast": 5,
    "reporting": 5,
    "__main__": 6,
    "cli": 6,
}


def module_name(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.fixture(scope="module")
def modules(repository) -> dict[str, Path]:
    source = repository / "src"
    return {module_name(path, source): path for path in sorted((source / "rbmbench").rglob("*.py"))}


def imports_of(name: str, path: Path, modules: dict[str, Path], at_top: bool) -> set[str]:
    """Return the package's modules that a file imports, anywhere in it or only when it is imported itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if at_top else list(ast.walk(tree))
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in modules else node.module)
    return {module for module in found if module in modules and module != name}


def floor_of(module: str) -> int | None:
    parts = module.split(".")
    # The package's own __init__ imports nothing until a name is asked for: it stands outside the house.
    return FLOORS[parts[1]] if len(parts) > 1 else None


def test_every_module_has_a_floor(modules):
    assert {name.split(".")[1] for name in modules if "." in name} == set(FLOORS)


def test_imports_point_down(modules):
    wrong = [
        f"{name} (floor {floor_of(name)}) imports {module} (floor {floor_of(module)})"
        for name, path in modules.items()
        for module in imports_of(name, path, modules, at_top=False)
        if floor_of(name) is not None and floor_of(module) is not None and floor_of(module) > floor_of(name)
    ]
    assert wrong == []


def test_no_cycles(modules):
    edges = {name: imports_of(name, path, modules, at_top=True) for name, path in modules.items()}
    done, path = set(), []

    def visit(name):
        assert name not in path, f"import cycle: {' -> '.join([*path[path.index(name) :], name])}"
        if name in done:
            return
        path.append(name)
        for module in sorted(edges[name]):
            visit(module)
        path.pop()
        done.add(name)

    for name in edges:
        visit(name)


def test_files_are_short(repository, modules):
    files = [*modules.values(), repository / "Snakefile", *(repository / "workflow").rglob("*.smk")]
    lengths = {str(path.relative_to(repository)): len(path.read_text().splitlines()) for path in files}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}
