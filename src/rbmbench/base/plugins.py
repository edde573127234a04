# SPDX-License-Identifier: BSD-3-Clause
"""Plug-ins: parts from files of the user and from installed packages, for the registries.

A file is named in the configuration (``plugins:``), on the command line (``--plugin``), by `load_plugins`, or in the
environment variable ``RBMBENCH_PLUGINS``, which processes that are started inherit. A package has entry points in the
groups ``rbmbench.estimators``, ``rbmbench.updates``, ``rbmbench.samplers``, ``rbmbench.datasets`` and
``rbmbench.kinds``. A part has the name of its module in either case.
"""

import ast
import hashlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from rbmbench.base.errors import SettingsError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Result = TypeVar("Result")

VARIABLE = "RBMBENCH_PLUGINS"
ROOT = "rbmbench_plugins"
"""Package in which files are imported: each folder is a package below it, so that its files can share others."""
NAME = re.compile(r"[a-z][a-z0-9_]*")
NO_PLUGINS = re.compile(r"_.*|test_.*|conftest|setup")
"""Files of a folder that are no plug-ins: shared code, and tests."""
ALLOWED = "a Python file that registers a part by @REGISTRY.register"


@dataclass(frozen=True)
class Plugin:
    """A module of parts outside of this package."""

    place: str  # the file as it was named, or the entry point and its package, for messages and lists
    sources: tuple[Path, ...]  # the module's file, and those it shares code with
    contents: tuple[bytes, ...] = field(repr=False)  # of these files when they were imported
    sha256: str  # of these contents
    package: str = ""  # of an entry point
    version: str = ""


_plugins: dict[str, Plugin] = {}  # by module
_used: dict[str, None] = {}  # modules of which this process has used a part
_files: dict[Path, str] = {}  # modules of files that were loaded
_state = {"loaded": "", "loading": ""}  # values of the environment variable


def load_plugins(*paths: str | os.PathLike) -> None:
    """Load plug-ins: registries then have their parts by name.

    Parameters
    ----------
    *paths : path
        Python files, or folders of which all files are loaded except those whose names begin with ``_`` or ``test_``.
        Files that are loaded already are not loaded again.

    Raises
    ------
    SettingsError
        If a path is missing, a file cannot be imported or registers nothing, or the name of a part is taken.
    """
    for path in map(Path, paths):
        for file in _files_of(path):
            if file.resolve() not in _files:
                _load_file(file)


def load_named() -> None:
    """Load the plug-ins that the environment variable names."""
    named = os.environ.get(VARIABLE, "")
    if named != _state["loaded"] and not _state["loading"]:
        _state["loading"] = named  # a plug-in may use a registry
        try:
            load_plugins(*filter(None, named.split(os.pathsep)))
            _state["loaded"] = named
        finally:
            _state["loading"] = ""


def name_for_processes(paths: Iterable[str | os.PathLike] = ()) -> str:
    """Add paths, and all files that were loaded, to the environment variable, and return its value."""
    named = [path for path in os.environ.get(VARIABLE, "").split(os.pathsep) if path]
    added = [*map(os.path.abspath, paths), *map(str, _files)]
    for path in added:
        if os.pathsep in path:
            raise SettingsError(f"plug-in {path}: must be without {os.pathsep!r}")
    value = os.pathsep.join(dict.fromkeys([*named, *added]))
    if value:
        os.environ[VARIABLE] = value
    return value


@cache
def entry_points(group: str) -> "dict[str, EntryPoint]":
    """Return the entry points of a group by name; `SettingsError` if two packages have one of the same name."""
    from importlib import metadata

    points: dict[str, EntryPoint] = {}
    for point in metadata.entry_points(group=group):
        other = points.setdefault(point.name, point)
        if other.value != point.value:
            text = f"must be in one package, got {place_of(other)}, too"
            raise SettingsError(f"{place_of(point)}: {group}: {text}")
    return points


def place_of(point: "EntryPoint") -> str:
    """Return an entry point in words."""
    assert point.dist  # entry points from `importlib.metadata.entry_points` have it
    return f"entry point {point.name} of {point.dist.name} {point.dist.version}"


def load_point(point: "EntryPoint") -> ModuleType:
    """Return the imported module of an entry point; `SettingsError` if it cannot be imported."""
    place, package, distribution = place_of(point), point.module.partition(".")[0], point.dist
    assert distribution
    allowed = "a module that registers a part of its name"

    def run() -> ModuleType:
        folders = folders_of(package)
        files = [file for folder in folders for file in sorted(Path(folder).rglob("*.py"))]
        if not files and (specification := find_spec(point.module)) and specification.origin:
            files = [Path(specification.origin)]
        _add(point.module, place, files, package=distribution.name, version=distribution.version)
        return import_module(point.module)

    return _imported(place, run, allowed)


def folders_of(package: str) -> list[str]:
    """Return the folders of a package that is installed; none of a single file."""
    specification = find_spec(package)
    return list(specification.submodule_search_locations or ()) if specification else []


def plugin_of(module: str) -> Plugin:
    """Return the plug-in of a module, which may have been imported without `load_plugins`."""
    if module not in _plugins:
        file = getattr(sys.modules[module], "__file__", None)
        _add(module, file or module, _with_shared(Path(file).resolve()) if file else [])
    return _plugins[module]


def use(module: str) -> None:
    """Note that this process uses a part of a module."""
    _used[module] = None


def forget_uses() -> None:
    """Forget the parts that this process has used: it begins another computation."""
    _used.clear()


def used() -> list[dict[str, str]]:
    """Return the plug-ins that this computation has used: name, file (without folder), sha256; package and version."""
    records = []
    for module in _used:
        plugin = plugin_of(module)
        file = {"file": plugin.sources[0].name} if plugin.sources and not plugin.package else {}
        package = {"package": plugin.package, "version": plugin.version} if plugin.package else {}
        records.append({"name": module.rpartition(".")[2], **file, **package, "sha256": plugin.sha256})
    return records


def _files_of(path: Path) -> list[Path]:
    if path.is_dir():
        files = [file for file in sorted(path.glob("*.py")) if not NO_PLUGINS.fullmatch(file.stem)]
        if not files:
            raise SettingsError(f"plug-in {path}: must be {ALLOWED}, or several, got a folder without Python files")
        return files
    if not path.is_file() or path.suffix != ".py":
        content = "something else" if path.exists() else "nothing"
        raise SettingsError(f"plug-in {path}: must be {ALLOWED}, or a folder of such files, got {content}")
    return [path]


def _load_file(file: Path) -> None:
    if not NAME.fullmatch(file.stem):
        text = "small letters, digits and _, first a letter: a part has the name of its file"
        raise SettingsError(f"plug-in {file}: must be {text}, got {file.stem!r}")
    place, name = os.path.relpath(file), f"{_package_of(file.resolve().parent)}.{file.stem}"
    if place.startswith(os.pardir):  # not below the working folder
        place = str(file)
    specification = spec_from_file_location(name, file.resolve())
    assert specification
    assert specification.loader  # because it is a Python file
    loader, module = specification.loader, module_from_spec(specification)
    _add(name, place, _with_shared(file.resolve()))  # before the file runs: the record is that of the imported files
    sys.modules[name] = module
    before = len(_registered)
    try:
        _imported(place, lambda: loader.exec_module(module), ALLOWED)
        if len(_registered) == before:
            raise SettingsError(f"plug-in {place}: registers nothing; allowed: {ALLOWED}")
    except SettingsError:
        for forget in _registered[before:]:
            forget()
        del _registered[before:], sys.modules[name], _plugins[name]
        raise
    _files[file.resolve()] = name


_registered: list[Callable[[], object]] = []


def note_registered(forget: Callable[[], object]) -> None:
    """Note that a part of a plug-in was registered; ``forget`` removes it if its file cannot be loaded."""
    _registered.append(forget)


def _package_of(folder: Path) -> str:
    """Return the name of the package for the files of a folder, made on first use."""
    letters = re.sub(r"\W", "_", folder.name)
    name = f"{ROOT}.{letters}_{hashlib.sha256(str(folder).encode()).hexdigest()[:8]}"
    for package, path in {ROOT: [], name: [str(folder)]}.items():
        if package not in sys.modules:
            sys.modules[package] = module = ModuleType(package)
            module.__path__ = path
    return name


def _imported(place: str, run: Callable[[], Result], allowed: str) -> Result:
    try:
        return run()
    except SettingsError:
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        frame = ([frame for frame in frames if Path(frame.filename).name == Path(place).name] or frames)[-1]
        where = "" if isinstance(error, SyntaxError) else f", in line {frame.lineno} of {Path(frame.filename).name}"
        reason = f"{type(error).__name__}: {error}{where}"
        raise SettingsError(f"plug-in {place}: cannot be imported ({reason}); allowed: {allowed}") from error


def _add(module: str, place: str, sources: Sequence[Path], **distribution: str) -> None:
    digest, contents = hashlib.sha256(), tuple(file.read_bytes() for file in sources)
    for file, content in zip(sources, contents, strict=True):
        digest.update(f"{file.name} {len(content)} ".encode() + content)
    _plugins[module] = Plugin(place, tuple(sources), contents, digest.hexdigest(), **distribution)


def _with_shared(file: Path) -> list[Path]:
    """Return a file, and the files beside it that it imports by ``from .NAME import``, and those that they import."""
    files: dict[Path, None] = {}
    queue = [file]
    while queue:
        source = queue.pop(0)
        if source in files or not source.is_file():
            continue
        files[source] = None
        try:
            statements = ast.walk(ast.parse(source.read_bytes()))
        except (SyntaxError, ValueError):  # which the import of the file raises, too
            continue
        for statement in statements:
            if isinstance(statement, ast.ImportFrom) and statement.level == 1:
                names = [statement.module] if statement.module else [name.name for name in statement.names]
                queue += [source.parent / f"{name.partition('.')[0]}.py" for name in names]
    return list(files)
