"""The report: one HTML page that holds verdicts, figures, tables and provenance, and needs nothing from elsewhere."""

import base64
import math
from collections.abc import Iterable, Mapping
from os import PathLike, path
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import Field

from rbmbench.base.errors import ResultsError
from rbmbench.base.parsing import parse
from rbmbench.io.atomic import replaced
from rbmbench.io.results import read_csv, read_meta
from rbmbench.reporting import text_tables
from rbmbench.reporting.claims import judge
from rbmbench.reporting.page.contents import figure_words, table_content
from rbmbench.reporting.specs import (
    CouplingTimesSpec,
    FigureSpec,
    IslCurvesSpec,
    RunTimesSpec,
    SampleSheetsSpec,
    Spec,
    TableSpec,
)
from rbmbench.reporting.words import count, data_name

__all__ = ["ReportSpec", "claims_table", "write_report"]

VERDICTS = {
    judge.REPRODUCED: ("yes", "✓"),
    judge.NOT_REPRODUCED: ("no", "✗"),
    judge.INCONCLUSIVE: ("open", "?"),
}


class FigureFiles(Spec):
    """The files made of a figure."""

    png: str
    pdf: str | None = None
    csv: str | None = None
    notebook_html: str | None = None


class TableFiles(Spec):
    """The files made of a table."""

    csv: str
    md: str | None = None
    tex: str | None = None
    notebook_html: str | None = None


class CurvesItem(FigureFiles, FigureSpec):
    """A figure of learning curves and its files."""


class CouplingItem(FigureFiles, CouplingTimesSpec):
    """A figure of stopping times and its files."""


class IslItem(FigureFiles, IslCurvesSpec):
    """A figure of sampling likelihoods and its files."""


class SheetsItem(FigureFiles, SampleSheetsSpec):
    """A figure of sheets of samples and its files."""


class BiasVarianceItem(TableFiles, TableSpec):
    """A table of bias and variance and its files."""


class RunTimesItem(TableFiles, RunTimesSpec):
    """A table of run times and its files."""


FigureItem = Annotated[CurvesItem | CouplingItem | IslItem | SheetsItem, Field(discriminator="kind")]
TableItem = Annotated[BiasVarianceItem | RunTimesItem, Field(discriminator="kind")]


class ReportSpec(Spec):
    """What the page shows."""

    title: str
    scale: str
    figures: tuple[FigureItem, ...] = ()
    tables: tuple[TableItem, ...] = ()
    claims_csv: str | None = None
    runs: tuple[str, ...] = ()


def write_report(spec: Mapping[str, Any], page: str | PathLike) -> None:
    """Write the page.

    Pictures are part of the page, so that it can be sent on its own; the links to PDF, CSV and notebooks are relative
    to the page's folder and work where the results lie.

    Parameters
    ----------
    spec : mapping
        The keys of `ReportSpec`.
    page : path
        The page to write.

    Raises
    ------
    ResultsError
        If a file that the page shows is missing or damaged, or the page cannot be written.
    SettingsError
        If the spec lacks a key.
    """
    report = parse(ReportSpec, spec, "report")
    here = Path(page).parent
    metas = [read_meta(folder) for folder in sorted(set(report.runs))]
    verdicts = judge.read_claims(report.claims_csv) if report.claims_csv else pd.DataFrame(columns=judge.COLUMNS)
    text = _template("index.html.j2").render(
        title=report.title,
        scale=report.scale,
        counts=_counts(verdicts),
        claims=claims_table(verdicts),
        figures=[_figure(figure, here) for figure in report.figures],
        tables=[_table(table, here) for table in report.tables],
        data=_data(metas),
        machines=_distinct(_machine(meta) for meta in metas),
        versions=_distinct(_versions(meta) for meta in metas),
        runs=[_run(meta) for meta in metas],
        hours=f"{sum(_wall(meta, 'total_seconds') for meta in metas) / 3600:.2f}",
    )
    with replaced(page) as temporary:
        temporary.write_text(text, encoding="utf-8")


def claims_table(verdicts: pd.DataFrame) -> str:
    """Return the verdicts as an HTML table, one section a group of claims (the id up to its first dot).

    Parameters
    ----------
    verdicts : DataFrame
        As `rbmbench.reporting.claims.judge.evaluate` returns it or as its CSV is read back.
    """
    groups = {}
    for claim in verdicts.to_dict("records"):
        mark, sign = VERDICTS[claim["verdict"]]
        line = {
            "id": claim["claim"],
            "where": _text(claim["where"]),
            "text": _text(claim["text"]),
            "published": _text(claim["published"]),
            "measured": text_tables.significant(claim["measured"]),
            "interval": text_tables.interval(claim["low"], claim["high"]),
            "verdict": claim["verdict"],
            "mark": mark,
            "sign": sign,
            "note": _text(claim["note"]),
        }
        groups.setdefault(claim["claim"].partition(".")[0], []).append(line)
    return _template("claims.html.j2").render(groups=groups)


def _template(name: str):
    """Return one of the package's templates; every value it shows is escaped."""
    loader = PackageLoader("rbmbench.reporting.page")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True).get_template(name)


def _text(value: Any) -> str:
    """Return a cell as text: nothing for a missing value, a number with three significant digits."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    try:
        return text_tables.significant(float(value))
    except ValueError:
        return str(value)


def _counts(verdicts: pd.DataFrame) -> list[dict[str, Any]]:
    """Return how many claims have each verdict."""
    found = verdicts["verdict"].value_counts()
    return [
        {"verdict": name, "mark": mark, "sign": sign, "count": int(found.get(name, 0))}
        for name, (mark, sign) in VERDICTS.items()
    ]


def _links(item: FigureFiles | TableFiles, names: Iterable[str], here: Path) -> list[tuple[str, str]]:
    """Return name and address, relative to the page, of the files that belong to a figure or a table."""
    found = ((name, getattr(item, name)) for name in names)
    titles = {"notebook_html": "notebook", "md": "Markdown", "tex": "LaTeX"}
    return [(titles.get(name, name.upper()), Path(path.relpath(file, here)).as_posix()) for name, file in found if file]


def _figure(item: CurvesItem | CouplingItem, here: Path) -> dict[str, Any]:
    """Return what the page shows of a figure."""
    try:
        picture = base64.b64encode(Path(item.png).read_bytes()).decode()
    except OSError as error:
        raise ResultsError(f"{item.png}: cannot be read ({error.strerror})") from None
    caption, alternative = figure_words(item)
    return {
        "key": item.key,
        "heading": f"{item.number} of {item.paper}: {item.title}",
        "picture": picture,
        "alt": alternative,
        "caption": caption,
        "links": _links(item, ("pdf", "png", "csv", "notebook_html"), here),
    }


def _table(item: BiasVarianceItem | RunTimesItem, here: Path) -> dict[str, Any]:
    """Return what the page shows of a table."""
    return {
        "key": item.key,
        "heading": f"{item.number} of {item.paper}: {item.title}",
        **table_content(item, read_csv(item.csv)),
        "links": _links(item, ("csv", "md", "tex", "notebook_html"), here),
    }


def _distinct(texts: Iterable[str]) -> list[str]:
    """Return texts without repetition and without empty ones, in order."""
    return [text for text in dict.fromkeys(texts) if text]


def _machine(meta: Mapping[str, Any]) -> str:
    """Return the hardware of a run in words."""
    hardware = meta.get("hardware") or {}
    parts = [hardware.get("cpu"), hardware.get("gpu")]
    parts += [f"{hardware['cores']} cores"] * ("cores" in hardware)
    parts += [f"{hardware['memory_gb']:.3g} GB memory"] * ("memory_gb" in hardware)
    return ", ".join(part for part in parts if part)


def _versions(meta: Mapping[str, Any]) -> str:
    """Return the versions behind a run in words."""
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
    """Return the number of rows of a data set, or of each of its parts."""
    parts = {name: number for name, number in (rows if isinstance(rows, dict) else {"train": rows}).items() if number}
    if list(parts) == ["train"]:
        return count(parts["train"])
    return ", ".join(f"{name} {count(number)}" for name, number in parts.items())


def _wall(meta: Mapping[str, Any], name: str) -> float:
    """Return one of a run's wall times in seconds, 0 where it is not known."""
    return float((meta.get("wall") or {}).get(name) or 0.0)


def _run(meta: Mapping[str, Any]) -> dict[str, str]:
    """Return the line of one run."""
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
