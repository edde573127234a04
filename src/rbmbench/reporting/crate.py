# SPDX-License-Identifier: BSD-3-Clause
"""Describe a folder of results as a Workflow Run RO-Crate: one file that archives and search engines can read.

`ro-crate-metadata.json` lists figures, tables, numbers, verdicts, notebooks and runs with their checksums, and says
which workflow made them, when, and at which commit. The profiles are RO-Crate 1.1, Workflow RO-Crate 1.0, Process Run
Crate 0.5 and Workflow Run Crate 0.5 (https://w3id.org/ro/wfrun/workflow/0.5).
"""

import hashlib
import mimetypes
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rbmbench.base.errors import ResultsError, SettingsError
from rbmbench.io.atomic import replaced, write_json
from rbmbench.io.layout import META, PICTURE_ENDINGS, TABLE_ENDINGS, Layout
from rbmbench.io.results import read_meta
from rbmbench.jobs import kinds
from rbmbench.planning.specs import read_spec
from rbmbench.reporting.claims.verdict import read_verdicts

CRATE = "ro-crate-metadata.json"
WORKFLOW = "workflow/Snakefile"
"""The workflow's main file, in a checkout and in the crate."""
CONTEXT = ["https://w3id.org/ro/crate/1.1/context", {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}]
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
SNAKEMAKE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
LEFT_OUT = ("logs", "checkpoints", "workflow")
"""Folders of a scale whose files are no results; the workflow is listed apart."""
TYPES = {
    ".ipynb": "application/x-ipynb+json",
    ".md": "text/markdown",
    ".npz": "application/zip",
    ".parquet": "application/vnd.apache.parquet",
    ".smk": "text/plain",
    ".svg": "image/svg+xml",
    ".tex": "application/x-tex",
}

Entity = dict[str, Any]
Job = tuple[Path, Mapping[str, Any]]
Times = tuple[str | None, str | None]


def write_crate(
    folder: str | PathLike, workflow: str | PathLike = WORKFLOW, author: str | None = None, licence: str | None = None
) -> Path:
    """Write the description of a folder of results into it, and a copy of the workflow that made them; return its path.

    Parameters
    ----------
    folder : path
        The folder of a scale, as results/paper, with `meta.json` of at least one job.
    workflow : path
        The Snakefile of the workflow; it and the files in its folder ``rules`` are copied to ``workflow/``.
    author : str, optional
        Who computed the results; by default nobody is named.
    licence : str, optional
        SPDX identifier of the results' licence; by default that of the package.

    Raises
    ------
    ResultsError
        If the folder holds no finished job, a file in it is damaged, or it cannot be written.
    SettingsError
        If the workflow is missing, or the package is not installed with its metadata.
    """
    root, main = Path(folder), Path(workflow)
    if not main.is_file():
        raise SettingsError(f"{main}: is missing; --workflow names workflow/Snakefile of the project")
    jobs = _jobs(root)
    if not jobs:
        raise ResultsError(f"{root}: found no {META} of a finished job")
    for file in (main, *sorted((main.parent / "rules").glob("*.smk"))):
        with replaced(root / "workflow" / file.relative_to(main.parent)) as temporary:
            temporary.write_bytes(file.read_bytes())
    package = _package()
    files = [_file(root, path) for path in _result_files(root)]
    parts = [_file(root, path) for path in sorted((root / "workflow").rglob("*")) if path.is_file()]
    main_entity = next(part for part in parts if part["@id"] == WORKFLOW)
    main_entity |= _main_workflow(package, [part for part in parts if part is not main_entity], jobs)
    actions = [_job_action(root, package["address"], author, *job) for job in jobs]
    named = {entity["@id"]: entity for entity in files}
    _describe_shown(Layout(str(root)), named)
    graph = [
        {
            "@id": CRATE,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": _ids(["https://w3id.org/ro/crate/1.1", "https://w3id.org/workflowhub/workflow-ro-crate/1.0"]),
        },
        _root(root, [*files, *parts], actions, _times(jobs), author, licence or package["licence"]),
        *({"@id": url, "@type": "CreativeWork", "name": name, "version": url[-3:]} for url, name in PROFILES.items()),
        *_software(package),
        *_people(package, author),
        *_licences({package["licence"], licence or package["licence"]}),
        _workflow_action(named, _times(jobs), author),
        *actions,
        *files,
        *parts,
    ]
    write_json(root / CRATE, {"@context": CONTEXT, "@graph": [_without_none(entity) for entity in graph]})
    return root / CRATE


def _package() -> dict[str, str]:
    """Return what the installed package says of itself."""
    try:
        found = metadata.metadata("rbmbench")
        urls = dict(line.split(", ", 1) for line in found.get_all("Project-URL") or ())
        return {
            "version": found["Version"],
            "author": found["Author"],
            "licence": found["License-Expression"],
            "repository": urls["Repository"],
            "address": f"{urls['Repository']}/tree/v{found['Version']}",
        }
    except (metadata.PackageNotFoundError, KeyError):
        raise SettingsError("rbmbench: is not installed with its metadata; install it again, as by make") from None


def _result_files(root: Path) -> Iterator[Path]:
    """Give the files of results, in order; hidden ones are parts of files that are being written."""
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        hidden = any(part.startswith(".") for part in parts)
        if path.is_file() and not hidden and parts[0] not in LEFT_OUT and parts != (CRATE,):
            yield path


def _file(root: Path, path: Path) -> Entity:
    name = path.relative_to(root).as_posix()
    with path.open("rb") as content:
        checksum = hashlib.file_digest(content, "sha256").hexdigest()
    kind = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    size = str(path.stat().st_size)
    return {
        "@id": quote(name),
        "@type": "File",
        "name": name,
        "encodingFormat": kind,
        "contentSize": size,
        "sha256": checksum,
    }


def _describe_shown(layout: Layout, named: dict[str, Entity]) -> None:
    """Give figures, tables and verdicts their titles and captions, and what they were made of."""
    root = Path(layout.root)
    for file in sorted((root / "specs").glob("*_*.json")):
        spec, key = read_spec(file), file.stem
        is_figure = "_fig" in key
        page = Path(layout.figure(key, "md") if is_figure else layout.table(key, "md"))
        caption = page.read_text(encoding="utf-8").strip().split("\n\n")[:2][-1] if page.is_file() else None
        made = [layout.figure(key, ending) for ending in PICTURE_ENDINGS]
        made = made if is_figure else [layout.table(key, ending) for ending in TABLE_ENDINGS]
        numbers = [
            quote(Path(one).relative_to(root).as_posix()) for one in (layout.numbers(key), layout.packed_numbers(key))
        ]
        for name in made:
            if entity := named.get(quote(Path(name).relative_to(root).as_posix())):
                entity |= {"name": f"{spec.number} of {spec.paper}: {spec.title}", "description": caption}
                entity["isBasedOn"] = _ids(one for one in numbers if one in named and is_figure)
    if "claims.json" in named:
        verdicts = Counter(record.verdict for record in read_verdicts(layout.verdicts))
        about = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.most_common())
        for entity in filter(None, map(named.get, ("claims.csv", "claims.json"))):
            entity |= {"name": "Verdicts on the papers' claims", "description": about}


def _jobs(root: Path) -> list[Job]:
    """Return the finished runs, evaluations and measurements, each with its folder and meta."""
    folders = sorted({kind.folder for kind in kinds()})
    files = [file for folder in folders for file in sorted((root / folder).glob(f"*/{META}"))]
    return [(file.parent, read_meta(file.parent)) for file in files]


def _job_action(root: Path, software: str, author: str | None, folder: Path, meta: Mapping[str, Any]) -> Entity:
    """Return a job as an action of the package."""
    name = folder.relative_to(root).as_posix()
    made = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    data = root / "datasets" / f"{folder.name.split('-')[0]}.npz"
    return _completed((meta.get("started"), meta.get("finished")), author) | {
        "@id": f"#{quote(name)}",
        "name": name,
        "description": f"commit {meta.get('commit') or 'unknown'}",
        "instrument": {"@id": software},
        "object": _ids(quote(path.relative_to(root).as_posix()) for path in [data] if path.is_file()),
        "result": _ids(quote(path.relative_to(root).as_posix()) for path in made),
    }


def _completed(times: Times, author: str | None) -> Entity:
    """Return what all actions share."""
    status = "http://schema.org/CompletedActionStatus"
    agent = {"@id": "#author"} if author else None
    return {"@type": "CreateAction", "startTime": times[0], "endTime": times[1], "actionStatus": status, "agent": agent}


def _workflow_action(named: Iterable[str], times: Times, author: str | None) -> Entity:
    """Return the action that made figures, tables and verdicts: the workflow as a whole."""
    shown = [
        name
        for name in named
        if name.split("/")[0] in ("figures", "tables", "data", "notebooks", "report", "claims.csv", "claims.json")
    ]
    return _completed(times, author) | {
        "@id": "#workflow-run",
        "name": "Run of the workflow",
        "description": "Made figures, tables and verdicts from trained models.",
        "instrument": {"@id": WORKFLOW},
        "object": _ids(name for name in named if name.startswith("datasets/")),
        "result": _ids(shown),
    }


def _root(
    root: Path, parts: Sequence[Entity], actions: Sequence[Entity], times: Times, author: str | None, licence: str
) -> Entity:
    """Return the folder itself."""
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Results of rbmbench at the {root.resolve().name} scale",
        "description": "Figures, tables and verdicts of papers on restricted Boltzmann machines, computed again.",
        "datePublished": times[1] or datetime.now(UTC).date().isoformat(),
        "license": {"@id": _licence_id(licence)},
        "author": {"@id": "#author"} if author else None,
        "conformsTo": _ids(PROFILES),
        "mainEntity": {"@id": WORKFLOW},
        "mentions": _ids(["#workflow-run", *(action["@id"] for action in actions)]),
        "hasPart": _ids(part["@id"] for part in parts),
    }


def _main_workflow(package: dict[str, str], others: Sequence[Entity], jobs: Sequence[Job]) -> Entity:
    """Return what the workflow's main file is besides a file."""
    commits = sorted({meta["commit"] for _, meta in jobs if meta.get("commit")})
    return {
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        "name": "rbmbench",
        "description": "The workflow that trains the models, and draws figures and tables.",
        "programmingLanguage": {"@id": SNAKEMAKE},
        "codeRepository": package["repository"],
        "url": f"{package['address'].replace('/tree/', '/blob/')}/{WORKFLOW}",
        "version": ", ".join(commits) or package["version"],
        "license": {"@id": _licence_id(package["licence"])},
        "author": {"@id": "#rbmbench-authors"},
        "hasPart": _ids([*(part["@id"] for part in others), package["address"]]),
    }


def _software(package: dict[str, str]) -> list[Entity]:
    """Return the package, and the language of the workflow."""
    return [
        {
            "@id": package["address"],
            "@type": "SoftwareApplication",
            "name": "rbmbench",
            "softwareVersion": package["version"],
            "url": package["repository"],
            "author": {"@id": "#rbmbench-authors"},
        },
        {
            "@id": SNAKEMAKE,
            "@type": "ComputerLanguage",
            "name": "Snakemake",
            "identifier": {"@id": "https://doi.org/10.1093/bioinformatics/bts480"},
            "url": {"@id": "https://snakemake.readthedocs.io"},
        },
    ]


def _people(package: dict[str, str], author: str | None) -> list[Entity]:
    authors = {
        "@id": "#rbmbench-authors",
        "@type": "Organization",
        "name": package["author"],
        "url": package["repository"],
    }
    return [authors, *([{"@id": "#author", "@type": "Person", "name": author}] if author else [])]


def _licences(names: set[str]) -> list[Entity]:
    return [
        {
            "@id": _licence_id(name),
            "@type": "CreativeWork",
            "name": name,
            "description": f"The licence with the SPDX identifier {name}",
        }
        for name in sorted(names)
    ]


def _licence_id(name: str) -> str:
    return f"https://spdx.org/licenses/{quote(name)}"


def _times(jobs: Sequence[Job]) -> Times:
    """Return when the first job began and the last one ended, in ISO 8601; all are in UTC."""
    begun = [meta["started"] for _, meta in jobs if meta.get("started")]
    ended = [meta["finished"] for _, meta in jobs if meta.get("finished")]
    return min(begun, default=None), max(ended, default=None)


def _ids(names: Iterable[str]) -> Any:
    """Return references to entities: one is no list, as RO-Crate wants it."""
    found = [{"@id": name} for name in names]
    return found[0] if len(found) == 1 else found


def _without_none(entity: Entity) -> Entity:
    """Return an entity less what is not known."""
    return {key: value for key, value in entity.items() if value is not None and value != []}
