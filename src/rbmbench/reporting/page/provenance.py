# SPDX-License-Identifier: BSD-3-Clause
"""Provenance of results: data sets, machines, versions, times, and results made by other code."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from rbmbench.base.errors import ResultsError
from rbmbench.io.layout import META, RUNS, Layout
from rbmbench.io.meta import Meta
from rbmbench.io.results import read_meta
from rbmbench.jobs import kind_of_meta
from rbmbench.jobs.fingerprints import UNKNOWN, fingerprint
from rbmbench.reporting.page.model import Data
from rbmbench.reporting.words import count, data_name, short_commit

PRESENT, OTHER, UNRECORDED = "present", "other", "not recorded"


def origins(folder: str, layout: Layout) -> Iterator[tuple[str, str]]:
    """Yield the ``meta.json`` of the result in a folder, and that of the training run that it measures.

    Each has the state of its code: `PRESENT`, `OTHER`, `UNRECORDED`.
    """
    meta, file = read_meta(folder), f"{folder}/{META}"
    run = layout.job(RUNS, str(meta.get("run")), META)
    if "evaluation" in meta:  # the other keys are the meta of the run
        yield file, _code(meta["evaluation"], meta)
        yield run, _code(meta, meta)
    else:
        yield file, _code(meta, meta)
        if run != file and Path(run).is_file():
            yield run, _code(trained := read_meta(Path(run).parent), trained)


def _code(job: Meta, meta: Meta) -> str:
    """Return the state of the code of a job, from its settings and the recorded fingerprint."""
    recorded, present = job.get("code"), UNKNOWN
    with suppress(ResultsError):
        _, settings = kind_of_meta(job)
        present = fingerprint(settings, (meta.get("data") or {}).get("visible"))
    if not recorded or UNKNOWN in (recorded, present):
        return UNRECORDED
    return PRESENT if recorded == present else OTHER


def command(arguments: Sequence[str], configfiles: Sequence[str]) -> str:
    """Return a command that computes results."""
    overlays = ["--configfile", *configfiles] if configfiles else []
    return shlex.join(["snakemake", "-c2", *arguments, *overlays])


def summary(metas: Sequence[Meta]) -> dict[str, object]:
    """Return the provenance fields of `model.Results` from the meta of training runs or of their evaluations."""
    metas = list({str(meta.get("run")): meta for meta in metas}.values())
    ends = sorted(str(meta["finished"])[:10] for meta in metas if meta.get("finished"))
    return {
        "data": tuple(dict.fromkeys(_data(meta.get("data") or {}) for meta in metas)),
        "machines": tuple(filter(None, dict.fromkeys(map(_machine, metas)))),
        "versions": tuple(_versions(metas)),
        "dates": (ends[0], ends[-1]) if ends else None,
        "hours": sum(_seconds(meta, "total") for meta in metas) / 3600,
        "runs": tuple(map(_run, metas)),
    }


def _machine(meta: Meta) -> str:
    hardware = meta.get("hardware") or {}
    parts = [hardware.get("cpu"), hardware.get("gpu")]
    parts += [f"{hardware['cores']} cores"] * ("cores" in hardware)
    parts += [f"{hardware['memory_gb']:.3g} GB memory"] * ("memory_gb" in hardware)
    return ", ".join(filter(None, parts))


def _versions(metas: Iterable[Meta]) -> Iterator[str]:
    """Yield each set of versions and plug-ins with the commits of its runs."""
    commits: dict[tuple[str, ...], dict[str, None]] = {}
    for meta in metas:
        parts = [f"{name} {version}" for name, version in sorted((meta.get("versions") or {}).items())]
        for plugin in (*(meta.get("plugins") or ()), *((meta.get("data") or {}).get("plugins") or ())):
            package = f"{plugin.get('package')} {plugin.get('version', '')}"
            place = package if "package" in plugin else plugin.get("file", "")
            parts.append(f"plug-in {plugin.get('name', '')} ({place}, sha256 {plugin.get('sha256', '')[:12]})")
        hashes = commits.setdefault(tuple(parts), {})
        hashes |= {short_commit(meta["commit"], 12): None} if meta.get("commit") else {}
    for versions, hashes in commits.items():
        words = [*versions, *[f"commit{'s' * (len(hashes) > 1)} {', '.join(hashes)}"] * bool(hashes)]
        if words:
            yield ", ".join(words)


def _data(data: Meta) -> Data:
    rows = data.get("rows")
    parts = {name: number for name, number in (rows if isinstance(rows, dict) else {"train": rows}).items() if number}
    sizes = [count(number) if [*parts] == ["train"] else f"{name} {count(number)}" for name, number in parts.items()]
    return Data(
        title=data.get("title", ""),
        size=f"{', '.join(sizes)} x {data.get('visible', '')}",
        stand_in=data_name(data.get("stand_in_for") or ""),
        source=data.get("source") or "",
        preprocessing=data.get("preprocessing") or "",
        files=tuple((file.get("name", ""), file.get("sha256", "")) for file in data.get("files") or []),
    )


def _seconds(meta: Meta, name: str) -> float:
    return float((meta.get("wall") or {}).get(f"{name}_seconds") or 0.0)


def _run(meta: Meta) -> dict[str, str]:
    memory = meta.get("peak_memory_mb")
    return {
        **{name: str(meta.get(name, "")) for name in ("run", "threads", "backend", "seed")},
        **{name: count(meta.get(name) or 0) for name in ("iterations", "trials")},
        **{name: f"{_seconds(meta, name):.1f}" for name in ("training", "evaluation")},
        "memory": f"{memory:.0f}" if memory else "",
    }
