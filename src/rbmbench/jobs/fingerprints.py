# SPDX-License-Identifier: BSD-3-Clause
"""Fingerprints of code: equal for code that computes the same, see `rbmbench.jobs.probes`.

They are recorded in ``meta.json`` and are parameters of the workflow's rules, so that a job runs again when the
results of its code have changed. They are no settings, and not part of ids. Each is computed once for the sources
that this process imported, and kept in the user's cache folder.
"""

import ast
import hashlib
import io
import re
import signal
import tokenize
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import decode_source
from multiprocessing import get_context
from pathlib import Path

from rbmbench import datasets, estimators, samplers, updates
from rbmbench.base import plugins, sources
from rbmbench.base.errors import RbmbenchError
from rbmbench.base.settings import RunSettings, Settings
from rbmbench.io.atomic import remove, write_json
from rbmbench.io.caches import user_cache
from rbmbench.io.results import read_json
from rbmbench.jobs import probes
from rbmbench.jobs._registry import kind_of
from rbmbench.kernels import is_installed
from rbmbench.likelihood import is_enumerable

UNKNOWN = "unknown"
COMPUTING = ("base", "estimators", "jobs", "kernels", "likelihood", "measurements", "model", "samplers")
COMPUTING += ("training", "updates")
"""The packages whose code determines the results of jobs, apart from data sets."""
MOST_KEPT = 20  # states of the sources whose fingerprints are kept
WITHOUT_ROWS = ("_dataset", "_downloads", "_http", "_recipe")
"""Modules of data sets on which rows do not depend: files are checked by their sha256, rows by their values."""
LAYOUT = {tokenize.INDENT: "{", tokenize.DEDENT: "}", tokenize.NEWLINE: ";"}


def fingerprint(settings: Settings, visible: int | None = None, working: Callable[[], None] | None = None) -> str:
    """Return the fingerprint of the code of a job with these settings: 10 hexadecimal digits.

    It is "unknown" if the job cannot be probed, for example because a part refuses small numbers as options.
    ``visible`` is the number of visible units of a training run. ``working`` is called before a fingerprint is
    computed, which takes a fraction of a second, or a minute if kernels have to be compiled.
    """
    kind = kind_of(settings)
    small = probes.reduced(kind, settings)
    # The likelihoods of other runs are annealed, in jobs of their own.
    enumerable = is_enumerable(visible, settings.hidden) if isinstance(settings, RunSettings) else True
    key = " ".join([type(settings).__name__, small.canonical(), str(enumerable), *_of_plugins(small)])
    fingerprints = _known()
    if key not in fingerprints:
        fingerprints |= _kept()  # of another process
    if key not in fingerprints:
        if working:
            working()
        try:
            fingerprints[key] = probes.behaviour(kind, small, enumerable)
        except Exception:  # of a part that has errors or no small form: its jobs raise them
            return UNKNOWN
        _keep(fingerprints)
    return fingerprints[key]


def probe_ahead(jobs: Sequence[tuple[Settings, int | None]]) -> None:
    """Compute the fingerprints of jobs, given as for `fingerprint`, in a daemon process, the last one first.

    The caller computes them from the first one on. Most of the time is compilation of kernels, which both share.
    """
    get_context("fork").Process(target=_probe, args=(jobs[::-1],), daemon=True).start()


def _probe(jobs: Iterable[tuple[Settings, int | None]]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    warnings.simplefilter("ignore")  # the parent process warns
    for settings, visible in jobs:
        fingerprint(settings, visible)


def recipe_fingerprint(name: str, options: Mapping[str, object] | None = None) -> str:
    """Return the fingerprint of the code of a data set: of its module and of those that it takes readers or rows from.

    Imports, comments, docstrings and the layout of lines do not matter, nor do names and folders of the modules that
    it imports; other code with the same result does.
    """
    names = name, *datasets.REGISTRY.create(name, options).made_from
    codes = set().union(*map(_recipe, names))
    return hashlib.sha256("".join(sorted(codes)).encode()).hexdigest()[:10]


def _recipe(name: str) -> set[str]:
    module = datasets.REGISTRY.get(name).__module__
    if module == f"{datasets.__name__}.{name}":
        return _codes(f"datasets/{name}.py", set())
    return {bare(_without_imports(decode_source(content))) for content in plugins.plugin_of(module).contents}


def _of_plugins(settings: Settings) -> list[str]:
    registries = estimators.REGISTRY, updates.REGISTRY, samplers.REGISTRY
    names = list(_names(settings.model_dump(mode="json")))
    foreign = [registry.get(name) for registry in registries for name in names if registry.is_foreign(name)]
    return sorted({plugins.plugin_of(maker.__module__).sha256 for maker in foreign})


def _names(values: object) -> Iterator[str]:
    if isinstance(values, dict) and isinstance(values.get("name"), str):
        yield values["name"]
    for value in values.values() if isinstance(values, dict) else values if isinstance(values, list) else ():
        yield from _names(value)


def _codes(path: str, seen: set[str]) -> set[str]:
    """Return the code of a module of data sets, and of those that it imports and that were not ``seen``."""
    seen.add(path)
    source = decode_source(sources.IMPORTED[path])
    codes = {bare(_without_imports(source))}
    for other in _helpers(source):
        codes |= _codes(other, seen) if other not in seen else set()
    return codes


def _helpers(source: str) -> list[str]:
    """Return the files of data sets that a source imports, except those on which rows do not depend."""
    names: set[str] = set()
    for statement in ast.walk(ast.parse(source)):
        if isinstance(statement, ast.ImportFrom) and statement.module:
            names |= {statement.module, *(f"{statement.module}.{alias.name}" for alias in statement.names)}
        elif isinstance(statement, ast.Import):
            names |= {alias.name for alias in statement.names}
    modules = {path: path.removesuffix(".py").removesuffix("/__init__") for path in sources.IMPORTED}
    return [
        path
        for path, module in modules.items()
        if f"rbmbench.{module.replace('/', '.')}" in names
        and module.startswith("datasets/")
        and module.rpartition("/")[2] not in WITHOUT_ROWS
    ]


def _without_imports(source: str) -> str:
    """Return a source with blanks in place of its imports, and of an ``if`` of nothing else, as for checks of types."""
    lines = source.encode().split(b"\n")
    for statement in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)):
        parts = statement.body if isinstance(statement, ast.If) and not statement.orelse else [statement]
        if not all(isinstance(node, ast.Import | ast.ImportFrom) for node in parts):
            continue
        first, last = statement.lineno - 1, (statement.end_lineno or statement.lineno) - 1
        for row in range(first, last + 1):
            begin = statement.col_offset if row == first else 0
            end = statement.end_col_offset if row == last else len(lines[row])
            lines[row] = lines[row][:begin] + b" " * ((end or 0) - begin) + lines[row][end:]
    return b"\n".join(lines).decode()


def bare(source: str) -> str:
    """Return a source without comments, docstrings and blanks, the same for every version of Python."""
    pieces: list[str] = []
    begins = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.NL):
            continue
        # A string at the start of a statement has no effect.
        if not (begins and token.type == tokenize.STRING):
            pieces.append(LAYOUT.get(token.type, token.string))
        begins = token.type in LAYOUT
    return re.sub(r"\s+", "", "".join(pieces))


@cache
def _file() -> Path | None:
    """Return the file of the fingerprints for these sources, with Numba or without; None without a cache folder."""
    folder = user_cache("fingerprints")
    key = hashlib.sha256(f"numba {is_installed('numba')} {sources.digest(*COMPUTING)}".encode()).hexdigest()[:16]
    return folder and folder / f"{key}.json"


@cache
def _known() -> dict[str, str]:
    return _kept()


def _kept() -> dict[str, str]:
    """Return the fingerprints in the file; none if sources were edited, of which this process may import some."""
    with suppress(RbmbenchError, OSError, AttributeError):
        if (file := _file()) and not sources.are_changed():
            return {key: value for key, value in read_json(file).items() if isinstance(value, str)}
    return {}


def _keep(fingerprints: dict[str, str]) -> None:
    """Write the known fingerprints and those of other processes, unless sources were edited; remove old files."""
    with suppress(RbmbenchError, OSError):
        if (file := _file()) and not sources.are_changed():
            write_json(file, _kept() | fingerprints)
            ages = sorted(file.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)
            for old in ages[:-MOST_KEPT]:
                remove(old)
