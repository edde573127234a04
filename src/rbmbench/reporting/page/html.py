"""The report: one HTML page that holds verdicts, figures, tables and provenance, and needs nothing from elsewhere."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, path
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from rbmbench.base.errors import ResultsError
from rbmbench.io.guard import UnreadableError, bounded_bytes
from rbmbench.io.layout import TABLE_ENDINGS, Layout
from rbmbench.io.results import read_csv, read_meta
from rbmbench.planning.specs import FigureSpec, Shown, TableSpec
from rbmbench.reporting.claims import judge
from rbmbench.reporting.claims.files import STANDINGS
from rbmbench.reporting.page.origins import OTHER, PRESENT, UNRECORDED, Origin, command, origins
from rbmbench.reporting.text_tables import interval, significant, write_text
from rbmbench.reporting.words import count, data_name

DISCUSSION = "docs/papers.md"
"""The page whose sections the key ``discussed`` of claims names."""
VERDICTS = {
    judge.REPRODUCED: ("yes", "✓"),
    judge.NOT_REPRODUCED: ("no", "✗"),
    judge.INCONCLUSIVE: ("open", "?"),
}


def write_report(
    layout: Layout, outputs: Sequence[Shown], page: str | PathLike | None = None, configfiles: Sequence[str] = ()
) -> None:
    """Write the page of a scale.

    Pictures are part of the page, so that it can be sent on its own; the links to PDF, CSV and notebooks are relative
    to the page's folder and work where the results lie. `ResultsError` if a file that the page shows is missing or
    damaged, or the page cannot be written.

    Parameters
    ----------
    layout : Layout
        Where the files of the scale are.
    outputs : sequence of Shown
        The specs of the figures and tables that the page shows.
    page : path, optional
        The page to write; by default that of the layout.
    configfiles : sequence of str
        Overlays of the configuration, for the command that makes results of other code again.
    """
    page = Path(page or layout.report)
    folders = sorted({folder for spec in outputs for folder in spec.folders()})
    made = {folder: list(origins(folder, layout)) for folder in folders}
    # Evaluations, estimates and samples have a meta of their own, without a training.
    metas = [meta for meta in map(read_meta, folders) if "training_seconds" in (meta.get("wall") or {})]
    verdicts = judge.read_claims(layout.claims)
    figures = [spec for spec in outputs if isinstance(spec, FigureSpec)]
    text = _template("index.html.j2").render(
        title=f"rbmbench: {Path(layout.root).name} scale",
        scale=Path(layout.root).name,
        verdicts=[(name, *marks) for name, marks in VERDICTS.items()],
        totals=_totals(verdicts),
        claims=claims_table(verdicts, quote(Path(path.relpath(DISCUSSION, page.parent)).as_posix())),
        figures=[_figure(spec, layout, page.parent) | _code(made, spec.folders()) for spec in figures],
        tables=[
            _table(spec, layout, page.parent) | _code(made, spec.folders()) for spec in outputs if spec not in figures
        ],
        code=_code(made, folders),
        command=command(_code(made, folders)["other"], configfiles),
        data=_data(metas),
        machines=_distinct(_machine(meta) for meta in metas),
        versions=_distinct(_versions(meta) for meta in metas),
        runs=[_run(meta) for meta in metas],
        hours=f"{sum(_wall(meta, 'total_seconds') for meta in metas) / 3600:.2f}",
    )
    write_text(text, page)


def _totals(verdicts: pd.DataFrame) -> list[tuple[str, list[int]]]:
    """Return the number of claims of each class that has any, for the verdicts in the order of `VERDICTS`."""
    counts = pd.crosstab(verdicts["class"], verdicts["verdict"])
    counts = counts.reindex(index=STANDINGS, columns=list(VERDICTS), fill_value=0)
    return [(name, line) for name, line in zip(counts.index, counts.to_numpy().tolist(), strict=True) if any(line)]


def claims_table(verdicts: pd.DataFrame, discussion: str = DISCUSSION) -> str:
    """Return the verdicts of `judge.evaluate` as an HTML table, one section per group: the id up to its first dot.

    Claims that are not reproduced link to the section that tells what was tried, of the page at ``discussion``.
    """
    groups = {}
    for claim in verdicts.to_dict("records"):
        mark, sign = VERDICTS[claim["verdict"]]
        line = {name: _text(claim[name]) for name in ("where", "text", "published", "class", "fails", "note")}
        tried = _text(claim["discussed"]) if claim["verdict"] == judge.NOT_REPRODUCED else ""
        line |= {"id": claim["claim"], "verdict": claim["verdict"], "mark": mark, "sign": sign, "tried": tried}
        line |= {"measured": significant(claim["measured"]), "interval": interval(claim["low"], claim["high"])}
        groups.setdefault(claim["claim"].partition(".")[0], []).append(line)
    return _template("claims.html.j2").render(groups=groups, discussion=discussion)


def _template(name: str):
    """Return one of the package's templates; every value it shows is escaped."""
    loader = PackageLoader("rbmbench.reporting.page")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True).get_template(name)


def _text(value: Any) -> str:
    """Return a cell as text: nothing for a missing value, a number with three significant digits."""
    if pd.isna(value):
        return ""
    try:
        return significant(float(value))
    except ValueError:
        return str(value)


def _shown(spec: Shown, layout: Layout, here: Path, files: Iterable[str]) -> dict[str, Any]:
    """Return what the page shows of a figure as of a table; links are names and addresses relative to the page."""
    titles = {".html": "notebook", ".md": "Markdown", ".tex": "LaTeX"}
    paths = [Path(file) for file in (*files, layout.notebook(spec.key, "html"))]
    return {
        "key": spec.key,
        "heading": f"{spec.number} of {spec.paper}: {spec.title}",
        "reading": spec.reading or "",
        "links": [
            (titles.get(file.suffix, file.suffix[1:].upper()), quote(Path(path.relpath(file, here)).as_posix()))
            for file in paths
        ],
    }


def _figure(spec: FigureSpec, layout: Layout, here: Path) -> dict[str, Any]:
    png, caption = (_content(layout.figure(spec.key, ending)) for ending in ("png", "md"))
    files = [layout.figure(spec.key, "pdf"), layout.figure(spec.key, "png"), layout.numbers(spec.key)]
    return _shown(spec, layout, here, files) | {
        "picture": base64.b64encode(png).decode(),
        "alt": f"{spec.title}; described below, and the numbers are in the CSV.",
        "caption": caption.decode().strip(),
    }


def _content(file: str) -> bytes:
    try:
        return bounded_bytes(file)
    except (OSError, UnreadableError) as error:
        raise ResultsError(f"{file}: cannot be read ({getattr(error, 'strerror', error)})") from None


def _table(spec: TableSpec, layout: Layout, here: Path) -> dict[str, Any]:
    table = spec.layout(read_csv(layout.table(spec.key, "csv")))
    files = [layout.table(spec.key, ending) for ending in TABLE_ENDINGS]
    return _shown(spec, layout, here, files) | {"parts": table.parts, "notes": table.notes}


def _code(made: Mapping[str, Sequence[Origin]], folders: Iterable[str]) -> dict[str, list[str]]:
    """Return the files of all results in these folders, of those of other code, and of those that record none."""
    found = {origin for folder in folders for origin in made[folder]}
    chosen = {"all": (PRESENT, OTHER, UNRECORDED), "other": (OTHER,), "unrecorded": (UNRECORDED,)}
    return {name: sorted(origin.file for origin in found if origin.code in codes) for name, codes in chosen.items()}


def _distinct(texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text]


def _machine(meta: Mapping[str, Any]) -> str:
    hardware = meta.get("hardware") or {}
    parts = [hardware.get("cpu"), hardware.get("gpu")]
    parts += [f"{hardware['cores']} cores"] * ("cores" in hardware)
    parts += [f"{hardware['memory_gb']:.3g} GB memory"] * ("memory_gb" in hardware)
    return ", ".join(part for part in parts if part)


def _versions(meta: Mapping[str, Any]) -> str:
    parts = [f"{name} {version}" for name, version in sorted((meta.get("versions") or {}).items())]
    return ", ".join(parts + [f"commit {str(meta['commit'])[:12]}"] * bool(meta.get("commit")))


def _data(metas: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the data sets that the runs used, once each."""
    found = {}
    for data in (meta.get("data") or {} for meta in metas):
        line = {
            "title": data.get("title", ""),
            "size": f"{_size(data.get('rows'))} x {data.get('visible', '')}",
            "stand_in": data_name(data.get("stand_in_for") or ""),
            "source": data.get("source") or "",
            "preprocessing": data.get("preprocessing") or "",
            "files": [(file.get("name", ""), file.get("sha256", "")) for file in data.get("files") or []],
        }
        found[str(line)] = line
    return list(found.values())


def _size(rows: Any) -> str:
    parts = {name: number for name, number in (rows if isinstance(rows, dict) else {"train": rows}).items() if number}
    if list(parts) == ["train"]:
        return count(parts["train"])
    return ", ".join(f"{name} {count(number)}" for name, number in parts.items())


def _wall(meta: Mapping[str, Any], name: str) -> float:
    return float((meta.get("wall") or {}).get(name) or 0.0)


def _run(meta: Mapping[str, Any]) -> dict[str, str]:
    memory = meta.get("peak_memory_mb")
    return {
        "run": str(meta.get("run", "")),
        "iterations": count(meta.get("iterations") or 0),
        "trials": count(meta.get("trials") or 0),
        "training": f"{_wall(meta, 'training_seconds'):.1f}",
        "evaluation": f"{_wall(meta, 'evaluation_seconds'):.1f}",
        "memory": f"{memory:.0f}" if memory else "",
        "threads": str(meta.get("threads", "")),
        "backend": str(meta.get("backend", "")),
        "seed": str(meta.get("seed", "")),
    }
