# SPDX-License-Identifier: BSD-3-Clause
"""Fingerprints of code: equal for code that computes the same, see `rbmbench.jobs.probes`.

They are recorded in ``meta.json`` and are parameters of the workflow's rules, so that a job runs again when what its
code computes has changed. They are no settings, and not part of ids. Each is computed once for the sources as they are,
and kept in the user's cache folder.
"""

import hashlib
import io
import re
import signal
import tokenize
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rbmbench import datasets, estimators, samplers, updates
from rbmbench.base import plugins
from rbmbench.base.errors import RbmbenchError
from rbmbench.base.settings import RunSettings, Settings
from rbmbench.io.atomic import remove, write_json
from rbmbench.io.results import read_json
from rbmbench.jobs import probes
from rbmbench.jobs._registry import kind_of
from rbmbench.kernels import is_installed
from rbmbench.likelihood import is_enumerable

UNKNOWN = "unknown"
PACKAGE = Path(__file__).parents[1]
COMPUTING = ("base", "estimators", "jobs", "kernels", "likelihood", "measurements", "model", "samplers")
COMPUTING += ("training", "updates")
"""The packages whose code decides what jobs compute, apart from data sets."""
MOST_KEPT = 20
"""States of the sources whose fingerprints are kept."""
WITHOUT_ROWS = ("_dataset", "_downloads", "_http", "_recipe")
"""Modules of data sets on which rows do not depend: files are checked by their sha256, rows by what they hold."""
LAYOUT = {tokenize.INDENT: "{", tokenize.DEDENT: "}", tokenize.NEWLINE: ";"}


def fingerprint(settings: Settings, visible: int | None = None, working: Callable[[], None] | None = None) -> str:
    """Return the fingerprint of the code of a job with these settings: 10 hexadecimal digits.

    It is "unknown" for what cannot be probed, for example because a part refuses small numbers as options.

    Parameters
    ----------
    settings : Settings
        `RunSettings`, or the settings of another job.
    visible : int, optional
        Visible units of a training run.
    working : callable, optional
        Called before a fingerprint is computed: this takes a fraction of a second, or a minute if kernels have to be
        compiled.
    """
    kind = kind_of(settings)
    small = probes.reduced(kind, settings)
    # The likelihoods of other runs are annealed, in jobs of their own.
    enumerable = is_enumerable(visible, settings.hidden) if isinstance(settings, RunSettings) else True
    key = " ".join([type(settings).__name__, small.canonical(), str(enumerable), *_of_plugins(small)])
    known = _known()
    if key not in known:
        known |= _kept()  # of another process
    if key not in known:
        if working:
            working()
        try:
            known[key] = probes.behaviour(kind, small, enumerable)
        except Exception:  # of a part that has errors or cannot be made small: its jobs will tell
            return UNKNOWN
        _keep(known)
    return known[key]


def probe_ahead(jobs: Sequence[tuple[Settings, int | None]]) -> None:
    """Compute the fingerprints of jobs, given as for `fingerprint`, in a process beside this one, the last one first.

    Who asks for them from the first one on finds the others done. What takes long is to compile the kernels, and both
    processes use what either has compiled. The other one ends with this process, if not before.
    """
    other = get_context("fork").Process(target=_probe, args=(jobs[::-1],), daemon=True)
    other.start()


def _probe(jobs: Iterable[tuple[Settings, int | None]]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    warnings.simplefilter("ignore")  # the process that asks for fingerprints warns
    for settings, visible in jobs:
        fingerprint(settings, visible)


def recipe_fingerprint(name: str, options: Mapping[str, Any] | None = None) -> str:
    """Return the fingerprint of the code of a data set: of its module and of those that it takes readers or rows from.

    Comments, docstrings and the layout of lines do not matter; another way to write the same does.
    """
    names = name, *datasets.REGISTRY.create(name, options).made_from
    return hashlib.sha256("".join(chain(*map(_recipe, names))).encode()).hexdigest()[:10]


def _recipe(name: str) -> tuple[str, ...]:
    """Return the code of a data set of this package or of a plug-in."""
    module = datasets.REGISTRY.get(name).__module__
    if module == f"{datasets.__name__}.{name}":
        return _statements(name)
    return tuple(bare(file.read_text(encoding="utf-8")) for file in plugins.plugin_of(module).sources)


def _of_plugins(settings: Settings) -> list[str]:
    """Return the checksums of the plug-ins among the parts that settings name."""
    registries = estimators.REGISTRY, updates.REGISTRY, samplers.REGISTRY
    found = []
    for name in _names(settings.model_dump(mode="json")):
        for registry in registries:
            if registry.is_foreign(name):
                found.append(plugins.plugin_of(registry.get(name).__module__).sha256)
    return sorted(set(found))


def _names(values: Any) -> Iterator[str]:
    """Yield all values of keys "name" in plain data."""
    if isinstance(values, dict):
        if isinstance(values.get("name"), str):
            yield values["name"]
        values = list(values.values())
    if isinstance(values, list):
        for value in values:
            yield from _names(value)


@cache
def _statements(name: str) -> tuple[str, ...]:
    """Return the code of a module of data sets, and of the modules beside it that it imports."""
    source = (PACKAGE / "datasets" / f"{name}.py").read_text(encoding="utf-8")
    imported = re.findall(r"^from rbmbench\.datasets\.(_\w+) import", source, re.MULTILINE)
    others = (statement for other in imported if other not in WITHOUT_ROWS for statement in _statements(other))
    return bare(source), *others


def bare(source: str) -> str:
    """Return a source without comments, docstrings and blanks, the same for every version of Python."""
    pieces: list[str] = []
    begins = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.NL):
            continue
        # A string that begins a statement is all of it, or its rest does nothing.
        if not (begins and token.type == tokenize.STRING):
            pieces.append(LAYOUT.get(token.type, token.string))
        begins = token.type in LAYOUT
    return re.sub(r"\s+", "", "".join(pieces))


@cache
def _sources() -> str:
    """Return the sha256 of all that computes, and of whether kernels are compiled."""
    digest = hashlib.sha256(f"numba {is_installed('numba')}".encode())
    for file in sorted(file for part in COMPUTING for file in (PACKAGE / part).rglob("*.py")):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(PACKAGE)} {len(content)} ".encode() + content)
    return digest.hexdigest()[:16]


@cache
def _file() -> Path | None:
    """Return the file of the fingerprints for the sources as they are; None without a home for caches."""
    from platformdirs import user_cache_path

    with suppress(RuntimeError, OSError):
        return user_cache_path("rbmbench") / "fingerprints" / f"{_sources()}.json"
    return None


@cache
def _known() -> dict[str, str]:
    """Return the fingerprints that are known for the sources as they are; further ones are added to it."""
    return dict(_kept())


def _kept() -> dict[str, str]:
    with suppress(RbmbenchError, OSError, AttributeError):
        return {key: value for key, value in read_json(_file()).items() if isinstance(value, str)}
    return {}


def _keep(known: dict[str, str]) -> None:
    """Write the known fingerprints, with those that other processes have written; remove those of old sources."""
    with suppress(RbmbenchError, OSError):
        if file := _file():
            write_json(file, _kept() | known)
            ages = sorted(file.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)
            for old in ages[:-MOST_KEPT]:
                remove(old)
