# SPDX-License-Identifier: BSD-3-Clause
"""The report: one HTML page that holds verdicts, figures, tables and provenance, and needs nothing from elsewhere."""

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
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.colors import to_hex

from rbmbench.base.errors import ResultsError
from rbmbench.base.parsing import parse
from rbmbench.config.layers import read_yaml
from rbmbench.config.loading import load
from rbmbench.io.results import read_json
from rbmbench.planning.chart import Entry, TablePart
from rbmbench.planning.specs import number_of
from rbmbench.reporting import speed, style
from rbmbench.reporting.claims.files import ClaimFile
from rbmbench.reporting.claims.verdict import INCONCLUSIVE, NOT_REPRODUCED, NUMBERS, REPRODUCED, Verdict
from rbmbench.reporting.page.model import Claim, Look, Paper, Report, Results, Shown, Speed, Theme
from rbmbench.reporting.page.reader import Folder, order, picture
from rbmbench.reporting.ranges import START
from rbmbench.reporting.text_tables import interval, part_of, significant, write_text
from rbmbench.reporting.words import count

CONFIG = Path("config/config.yaml")
VERDICTS = {REPRODUCED: ("yes", "✓"), NOT_REPRODUCED: ("no", "✗"), INCONCLUSIVE: ("open", "?")}
SCRIPTS = ("uplot.js", "axes.js", "charts.js", "pointers.js", "snapshots.js", "page.js")
STEPS = "steps.csv"
"""The file of measured speed by which its folder is known."""
MARGIN = 0.08
"""Share of the strip of a claim on either side of the outermost number."""
MOST_LINEAR = 50
"""Positive numbers whose largest is more than so many times the smallest lie on a logarithmic strip."""


def write_report(
    folders: Sequence[str | PathLike],
    page: str | PathLike,
    config: str | PathLike = CONFIG,
    configfiles: Sequence[str] = (),
    specs: Sequence[str | PathLike] = (),
    values: Mapping[str, object] | None = None,
) -> None:
    """Write the page that shows all results of some folders.

    The page is one file that can be sent on its own. Its only addresses are those of notebooks, where there are any,
    which are relative. `ResultsError` if a file that the page shows is missing or damaged, or the page cannot be
    written, `SettingsError` if a spec or the configuration is damaged.

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
        The merged configuration, where it is known already, as `rbmbench.config.loading.load` takes it.
    """
    page, config = Path(page), Path(config)
    results, papers = [], {}
    for folder in map(Path, folders):
        if (folder / STEPS).is_file():
            continue
        beside = config.with_name(f"{folder.resolve().name}.yaml")
        overlays = list(configfiles) or [str(beside)] * beside.is_file()
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
    here = {one.paper for of_folder in results for one in (*of_folder.claims, *of_folder.shown)}
    report = Report(
        title="rbmbench: results" if results else "rbmbench: speed",
        papers=tuple(papers.get(key, Paper(key=key)) for key in [*papers, *sorted(here - set(papers))] if key in here),
        results=tuple(results),
        looks=_looks(results),
        theme=chart_theme(),
        speed=tuple(_speed(Path(folder)) for folder in folders if (Path(folder) / STEPS).is_file()),
    )
    write_text(rendered(report), page)


def rendered(report: Report) -> str:
    """Return the page. All text is escaped, and the scripts are named by their hashes: no other one runs."""
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
        significant=significant,
        interval=interval,
        ratios=_ratios,
        grid=_grid(report),
        zip=zip,
        compared=_compared(report),
        count=count,
    )


def _asset(name: str) -> str:
    return (files("rbmbench.reporting.page") / "assets" / name).read_text(encoding="utf-8")


def chart_theme() -> Theme:
    """Return the look of all charts on the page, that of the pictures."""
    look, keys = style.LOOK, {"tick": "xtick.labelsize", "label": "axes.labelsize", "title": "axes.titlesize"}
    fonts = {name: f'{style.PIXELS * look[key]:g}px "{look["font.family"]}", system-ui' for name, key in keys.items()}
    return Theme(fonts=fonts, looks={name: _look(one, style.PIXELS) for name, one in style.LOOKS.items()}, start=START)


def _look(look: style.Look, pixels: float) -> Look:
    """Return the look of a line or a mark of matplotlib on the page, where a point has so many pixels."""
    pattern, size = look.get("linestyle"), pixels * look.get("markersize", 0)
    width = pixels * look["markeredgewidth" if size else "linewidth"]
    dash = [width * part for part in pattern[1]] if isinstance(pattern, tuple) else ()
    colour = to_hex(look.get("color", style.BLACK)).upper()
    return Look(colour=colour, dash=dash, width=width, alpha=look.get("alpha", 1.0), size=size)


def _looks(results: Iterable[Results]) -> dict[str, Look]:
    """Return how each algorithm is drawn, the same in all figures of all folders: as the first that chooses a look."""
    figures = [shown for of_folder in results for shown in of_folder.shown]
    keys = {series.key for shown in figures for panel in shown.panels for series in panel.series}
    keys |= {image.key for shown in figures for image in shown.images}
    own = {entry.key: entry for shown in reversed(figures) for entry in reversed(shown.own_looks)}
    entries = {key: own.get(key, Entry(label=key)) for key in sorted(keys)}
    return {key: _look(style.look_of(key, entry.color, entry.dash), 1) for key, entry in entries.items()}


def _speed(folder: Path) -> Speed:
    table, meta = speed.read_steps(folder / STEPS), read_json(folder / "steps.meta.json")
    shown = table.drop(columns="kind").rename(columns=lambda name: name.replace("_", " "))
    try:
        numbers = [name for name in shown if name in ("milliseconds", "reference milliseconds", "ratio")]
        cells = shown.astype(str).assign(**{name: shown[name].astype(float).map(significant) for name in numbers})
        caption = speed.caption(meta)
    except (KeyError, TypeError, ValueError) as error:
        raise ResultsError(f"{folder}: does not say what was measured ({error})") from None
    part = part_of("Milliseconds per update", cells, len(cells.columns) - len(numbers))
    return Speed(caption=caption, part=part, picture=picture(folder / "steps.png"))


def _answered(report: Report) -> tuple[Results, list[tuple[Paper, Shown | None, list]]] | None:
    """Return the first folder that answers findings.

    Beside it are, for each paper, the figure of its first finding that has a picture, and each finding with its claims.
    """
    for results in report.results:
        shown = {item.key: item for item in results.shown if item.picture}
        claims = {claim.claim: claim for claim in results.claims}
        papers = []
        for paper in report.papers:
            own = [finding for finding in results.findings if finding.paper == paper.key]
            item = next((shown[finding.figure] for finding in own if finding.figure in shown), None)
            evidence = [(finding, [claims[name] for name in finding.claims if name in claims]) for finding in own]
            papers += [(paper, item, evidence)] if own else []
        if papers:
            return results, papers
    return None


def _ratios(part: TablePart, line: Sequence[str]) -> list[float | None]:
    """Return for each cell of a line what it is over the printed number, None where there is none."""
    ratios: list[float | None] = [None] * len(line)
    for own, printed in part.published.items():
        with suppress(ValueError, ZeroDivisionError):
            ratios[own] = float(line[own]) / float(line[printed])
    return ratios


def _grid(report: Report) -> dict[str, list[tuple[str, str, list]]]:
    """Return the coverage of each paper: key, name, and what each folder shows of it, None for nothing."""
    here = [{shown.key: shown for shown in results.shown} for results in report.results]
    grids = {}
    for paper in report.papers:
        shown = [item for of_folder in here for item in of_folder.values() if item.paper == paper.key]
        names = {item.key: item.heading for item in shown} | paper.shown
        keys = sorted(names, key=order)
        grids[paper.key] = [(key, names[key], [of_folder.get(key) for of_folder in here]) for key in keys]
    return grids


def _compared(report: Report) -> list[tuple[Claim, list[Claim | None]]]:
    """Return the claims on which folders differ, with what each says of it, None where it has no verdict."""
    claims = [{claim.claim: claim for claim in results.claims} for results in report.results]
    differing = []
    for key in dict.fromkeys(key for of_folder in claims for key in of_folder):
        lines = [of_folder.get(key) for of_folder in claims]
        if len({line.verdict for line in lines if line}) > 1:
            differing.append((next(line for line in lines if line), lines))
    return differing


def strip(claim: Claim) -> dict[str, Any] | None:
    """Return where the numbers of a claim lie on the strip that shows them, in percent of its width.

    Keys are range (accepted), interval, measured, printed, and log (whether the strip is logarithmic); None stands for
    what there is not. None without a measured number or a range.
    """
    if claim.measured is None or claim.above is claim.below is None:
        return None
    numbers = {name: getattr(claim, name) for name in NUMBERS if getattr(claim, name) is not None}
    with suppress(ValueError):  # words
        numbers["printed"] = float(claim.published)
    log = min(numbers.values()) > 0 and max(numbers.values()) > MOST_LINEAR * min(numbers.values())
    scaled = {name: math.log(number) if log else number for name, number in numbers.items()}
    least = min(scaled.values())
    span = (max(scaled.values()) - least) or 1.0
    shares = {name: (number - least) / span for name, number in scaled.items()}
    places = {name: round(100 * (MARGIN + (1 - 2 * MARGIN) * share), 2) for name, share in shares.items()}
    return {
        "range": (places.get("above", 0.0), places.get("below", 100.0)),
        "interval": (places["low"], places["high"]) if {"low", "high"} <= places.keys() else None,
        "measured": places["measured"],
        "printed": places.get("printed"),
        "log": log,
    }


def claims_table(verdicts: Iterable[Verdict]) -> str:
    """Return verdicts as an HTML table, one section per group: the id up to its first dot."""
    groups = {}
    for record in verdicts:
        groups.setdefault(record.claim.partition(".")[0], []).append((record, *VERDICTS[record.verdict]))
    return template("claims.html.j2").render(groups=groups, significant=significant, interval=interval)


@cache
def template(name: str):
    """Return one of the package's templates; every value it shows is escaped."""
    loader = PackageLoader("rbmbench.reporting.page")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.get_template(name)
