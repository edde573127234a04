# SPDX-License-Identifier: BSD-3-Clause
"""The report: one self-contained HTML page of verdicts, figures, tables and provenance."""

import base64
import gzip
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.colors import to_hex

from rbmbench.base.errors import ResultsError, SettingsError
from rbmbench.base.metrics import INTERVAL
from rbmbench.base.parsing import parse
from rbmbench.config.layers import read_yaml
from rbmbench.config.loading import load
from rbmbench.io.atomic import write_text
from rbmbench.io.results import read_json
from rbmbench.planning.chart import Entry, TablePart
from rbmbench.planning.specs import number_of
from rbmbench.reporting import speed, style
from rbmbench.reporting.claims.files import ClaimFile
from rbmbench.reporting.claims.verdict import INCONCLUSIVE, NOT_REPRODUCED, NUMBERS, REPRODUCED, Verdict
from rbmbench.reporting.page.model import Claim, Look, Paper, Report, Results, Shown, Speed, Theme
from rbmbench.reporting.page.reader import Folder, order, picture
from rbmbench.reporting.ranges import START
from rbmbench.reporting.text_tables import interval, part_of, significant

CONFIG = Path("config/config.yaml")
VERDICTS = {REPRODUCED: ("yes", "✓"), NOT_REPRODUCED: ("no", "✗"), INCONCLUSIVE: ("open", "?")}
SCRIPTS = ("uplot.js", "axes.js", "charts.js", "pointers.js", "snapshots.js", "page.js")
STEPS = "steps.csv"
"""File that marks a folder of measured speed."""
MARGIN = 0.08
"""Share of the strip of a claim on either side of the outermost number."""
IN_CSS = {"above": "a", "below": "b", "low": "l", "high": "h", "measured": "m", "printed": "p"}
"""Names of the positions of numbers on a strip, see `page.css`."""
MOST_LINEAR = 50
"""Ratio of the largest to the smallest positive number above which a strip is logarithmic."""


def write_report(
    folders: Sequence[str | PathLike],
    page: str | PathLike,
    config: str | PathLike = CONFIG,
    configfiles: Sequence[str] = (),
    specs: Sequence[str | PathLike] = (),
    values: Mapping[str, object] | None = None,
) -> None:
    """Write the page of all results of some folders.

    The page is one file that can be sent on its own. Its only links are relative ones to notebooks, if there are any.
    `ResultsError` if a file that the page shows is missing or damaged, or the page cannot be written, `SettingsError`
    if a spec or the configuration is damaged.

    Parameters
    ----------
    folders : sequence of path
        Folders of results, of the workflow or kept, and of measured speed (with ``steps.csv``).
    page : path
        The page to write.
    config : path
        config.yaml, for the titles of papers. An overlay beside it that has a folder's name belongs to that folder.
    configfiles : sequence of str
        Overlays of all folders, in place of those.
    specs : sequence of path
        Specs of the figures and tables to show, for a single folder; by default all.
    values : mapping, optional
        The merged configuration, if already read; see `rbmbench.config.loading.load`.
    """
    page, config = Path(page), Path(config)
    results, papers = [], {}
    for folder in map(Path, folders):
        if (folder / STEPS).is_file():
            continue
        name = folder.resolve().name
        if name in {other.name for other in results}:
            raise SettingsError(f"{folder}: folders of results must differ in their names, got {name!r} twice")
        overlay = config.with_name(f"{name}.yaml")
        overlays = list(configfiles) or [str(overlay)] * overlay.is_file()
        published = load([config, *map(Path, overlays)], values).published if config.is_file() else {}
        for key, paper in published.items():
            items = {f"{key}_{name}": item for name, item in (paper.figures | paper.tables).items()}
            names = {name: f"{number_of(name)}: {item.title}" for name, item in items.items()}
            papers[key] = Paper(key=key, title=paper.title, citation=paper.citation, shown=names)
        claims = {key: config.parent / "claims" / f"{key}.yaml" for key in papers}
        files = {key: parse(ClaimFile, read_yaml(file), str(file)) for key, file in claims.items() if file.is_file()}
        chosen = {Path(file).stem for file in specs}
        is_part = bool(chosen) and any(paper.shown.keys() - chosen for paper in papers.values())
        results.append(Folder(folder, page, overlays, [Path(file) for file in specs], files, is_part).read())
    keys = {item.paper for folder in results for item in (*folder.claims, *folder.shown)}
    report = Report(
        title="rbmbench: results" if results else "rbmbench: speed",
        papers=tuple(papers.get(key, Paper(key=key)) for key in [*papers, *sorted(keys - set(papers))] if key in keys),
        results=tuple(results),
        looks=_looks(results),
        theme=chart_theme(),
        speed=tuple(_speed(Path(folder)) for folder in folders if (Path(folder) / STEPS).is_file()),
    )
    write_text(rendered(report), page)


def rendered(report: Report) -> str:
    """Return the page. All text is escaped; a policy with the hashes of the scripts forbids all others."""
    scripts = [_asset(name) for name in SCRIPTS]
    return template("page.html.j2").render(
        report=report,
        data=base64.b64encode(gzip.compress(report.model_dump_json().encode(), mtime=0)).decode(),
        scripts=scripts,
        hashes=[base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts],
        css=_asset("uplot.css") + _asset("page.css"),
        verdicts=VERDICTS,
        answered=_answered(report),
        strip=strip,
        ratios=_ratios,
        grid=_grid(report),
        zip=zip,
        compared=_compared(report),
    )


def _asset(name: str) -> str:
    return (files("rbmbench.reporting.page") / "assets" / name).read_text(encoding="utf-8")


def chart_theme() -> Theme:
    """Return the look of all charts on the page, that of the pictures."""
    default, keys = style.LOOK, {"tick": "xtick.labelsize", "label": "axes.labelsize", "title": "axes.titlesize"}
    family = f'"{default["font.family"]}", system-ui'
    fonts = {name: f"{style.PIXELS * default[key]:g}px {family}" for name, key in keys.items()}
    looks = {name: _look(look, style.PIXELS) for name, look in style.LOOKS.items()}
    return Theme(fonts=fonts, looks=looks, start=START)


def _look(look: style.Look, pixels: float) -> Look:
    """Return the look of a line or a mark of matplotlib on the page, with ``pixels`` per point."""
    pattern, size = look.get("linestyle"), pixels * look.get("markersize", 0)
    width = pixels * look["markeredgewidth" if size else "linewidth"]
    dash = [width * length for length in pattern[1]] if isinstance(pattern, tuple) else ()
    colour = to_hex(look.get("color", style.BLACK)).upper()
    return Look(colour=colour, dash=dash, width=width, alpha=look.get("alpha", 1.0), size=size)


def _looks(results: Iterable[Results]) -> dict[str, Look]:
    """Return the look of each algorithm in all figures of all folders: that of the first figure that defines one."""
    figures = [figure for folder in results for figure in folder.shown]
    keys = {series.key for figure in figures for panel in figure.panels for series in panel.series}
    keys |= {image.key for figure in figures for image in figure.images}
    defined = {entry.key: entry for figure in reversed(figures) for entry in reversed(figure.own_looks)}
    entries = {key: defined.get(key, Entry(label=key)) for key in sorted(keys)}
    return {key: _look(style.look_of(key, entry.color, entry.dash), 1) for key, entry in entries.items()}


def _speed(folder: Path) -> Speed:
    table, meta = speed.read_steps(folder / STEPS), read_json(folder / "steps.meta.json")
    table = table.drop(columns="kind").rename(columns=lambda name: name.replace("_", " "))
    try:
        numbers = [name for name in table if name in ("milliseconds", "reference milliseconds", "ratio")]
        cells = table.astype(str).assign(**{name: table[name].astype(float).map(significant) for name in numbers})
        caption = speed.caption(meta)
    except (KeyError, TypeError, ValueError) as error:
        raise ResultsError(f"{folder}: does not say what was measured ({error})") from None
    content = part_of("Milliseconds per update", cells, len(cells.columns) - len(numbers))
    return Speed(caption=caption, part=content, picture=picture(folder / "steps.png"))


def _answered(report: Report) -> tuple[Results, list[tuple[Paper, Shown | None, list]]] | None:
    """Return the first folder with answers to findings, None without one.

    With it, for each paper: the figure of the first finding with a picture, and each finding with its claims.
    """
    for results in report.results:
        figures = {item.key: item for item in results.shown if item.picture}
        claims = {claim.claim: claim for claim in results.claims}
        papers = []
        for paper in report.papers:
            findings = [finding for finding in results.findings if finding.paper == paper.key]
            item = next((figures[finding.figure] for finding in findings if finding.figure in figures), None)
            evidence = [(finding, [claims[name] for name in finding.claims if name in claims]) for finding in findings]
            papers += [(paper, item, evidence)] if findings else []
        if papers:
            return results, papers
    return None


def _ratios(table: TablePart, line: Sequence[str]) -> list[float | None]:
    """Return the ratio of each cell of a line to the printed number, None without one."""
    ratios: list[float | None] = [None] * len(line)
    for measured, printed in table.published.items():
        with suppress(ValueError, ZeroDivisionError):
            ratios[measured] = float(line[measured]) / float(line[printed])
    return ratios


def _grid(report: Report) -> dict[str, list[tuple[str, str, list]]]:
    """Return the coverage of each paper: key, name, and the figure or table in each folder, None if missing."""
    folders = [{item.key: item for item in results.shown} for results in report.results]
    grids = {}
    for paper in report.papers:
        items = [item for folder in folders for item in folder.values() if item.paper == paper.key]
        names = {item.key: item.heading for item in items} | paper.shown
        keys = sorted(names, key=order)
        grids[paper.key] = [(key, names[key], [folder.get(key) for folder in folders]) for key in keys]
    return grids


def _compared(report: Report) -> list[tuple[Claim, list[Claim | None]]]:
    """Return the claims on which folders differ, with the claim in each folder, None without a verdict."""
    folders = [{claim.claim: claim for claim in results.claims} for results in report.results]
    differing = []
    for key in dict.fromkeys(key for folder in folders for key in folder):
        lines = [folder.get(key) for folder in folders]
        if len({line.verdict for line in lines if line}) > 1:
            differing.append((next(line for line in lines if line), lines))
    return differing


def strip(claim: Claim) -> tuple[dict[str, float], bool] | None:
    """Return the positions of the numbers of a claim on its strip, and whether the strip is logarithmic.

    Positions are in percent of the width, by `IN_CSS`; an infinite end of the interval is at the edge. None without
    a finite measured number or a range.
    """
    if claim.measured is None or math.isinf(claim.measured) or claim.above is claim.below is None:
        return None
    known = {name: number for name in NUMBERS if (number := getattr(claim, name)) is not None}
    numbers = {name: number for name, number in known.items() if math.isfinite(number)}
    with suppress(ValueError):  # words
        numbers["printed"] = float(claim.published)
    log = min(numbers.values()) > 0 and max(numbers.values()) > MOST_LINEAR * min(numbers.values())
    scaled = {name: math.log(number) if log else number for name, number in numbers.items()}
    least = min(scaled.values())
    scale = (1 - 2 * MARGIN) / ((max(scaled.values()) - least) or 1.0)
    places = {IN_CSS[name]: round(100 * (MARGIN + scale * (number - least)), 2) for name, number in scaled.items()}
    edges = {IN_CSS[name]: 100.0 * (number > 0) for name, number in known.items() if math.isinf(number)}
    return places | edges, log


def claims_table(verdicts: Iterable[Verdict]) -> str:
    """Return verdicts as an HTML table, one section per group: the id up to its first dot."""
    groups = {}
    for record in verdicts:
        groups.setdefault(record.claim.partition(".")[0], []).append((record, *VERDICTS[record.verdict]))
    return template("claims.html.j2").render(groups=groups)


@cache
def template(name: str):
    """Return a template of the package, with escaping of all values."""
    loader = PackageLoader("rbmbench.reporting.page")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.globals |= {"INTERVAL": INTERVAL, "significant": significant, "interval": interval}
    return environment.get_template(name)
