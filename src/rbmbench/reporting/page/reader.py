# SPDX-License-Identifier: BSD-3-Clause
"""Read a folder of results, of the workflow or kept, as what the page shows.

A folder of the workflow has specs, runs and notebooks. A kept one has ``meta/KEY.json`` in their place, and compressed
numbers. Both have verdicts, pictures and tables as text. Without a spec, titles are those of the configuration.
"""

import base64
import io
import math
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import path
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
from pydantic import ValidationError

from rbmbench.base.errors import ResultsError
from rbmbench.io.guard import UnreadableError, bounded_bytes
from rbmbench.io.layout import EVALUATIONS, RUNS, Layout
from rbmbench.io.meta import OWN_CHECKSUM, SAME_AS, checked_meta, content_checksum
from rbmbench.io.results import check_files, numbers_file, read_csv, read_json, read_meta
from rbmbench.planning.specs import FigureSpec, number_of, paper_of, read_spec
from rbmbench.planning.specs import Shown as Spec
from rbmbench.reporting.claims.verdict import CHECK_OF_INSTALLATION, INCONCLUSIVE, NUMBERS, Verdict, read_verdicts
from rbmbench.reporting.page.configured import Configured
from rbmbench.reporting.page.curves import Curves, curves, panels
from rbmbench.reporting.page.facts import PanelFacts, RunFacts, panel_facts
from rbmbench.reporting.page.model import Claim, Code, Mark, Part, Picture, Results, Shown
from rbmbench.reporting.page.provenance import OTHER, UNRECORDED, Origin, command, origins, summary
from rbmbench.reporting.page.snapshots import snapshots
from rbmbench.reporting.words import summarised, variants

PICTURE_WIDTH = 640
"""Pixels; the pictures of a page are a fallback, and curves are drawn from numbers."""
NUMBER = re.compile(r"[-+0-9.e\s]*|nan|-?inf|.* to .*")


@dataclass(frozen=True)
class Drawn:
    """A figure: the file of its numbers, the numbers, its curves by panel, and what is known of its panels."""

    file: Path
    numbers: pd.DataFrame
    curves: Mapping[str, Curves]
    known: Mapping[str, PanelFacts]


class Folder:
    """One folder of results. `ResultsError` of all its methods if a file is missing or damaged.

    Parameters
    ----------
    root : path
        Such as results/paper or results/reference/paper; its name is that of the scale.
    page : path
        The page to write, for addresses relative to it.
    configured : Configured
    configfiles : sequence of str
        Overlays of the configuration, for the commands on the page.
    specs : sequence of path, optional
        Specs of the figures and tables to show; by default all of the folder.
    """

    def __init__(
        self, root: Path, page: Path, configured: Configured, configfiles: Sequence[str], specs: Sequence[Path] = ()
    ):
        self.layout, self.page, self.configured, self.configfiles = Layout(str(root)), page, configured, configfiles
        self.kept = {} if specs else {file.stem: file for file in sorted((root / "meta").glob("*.json"))}
        # Kept specs are there to draw again; what they rest on is in the meta.
        files = () if self.kept else specs or sorted(Path(self.layout.spec("x")).parent.glob("*_*.json"))
        self.specs: dict[str, Spec] = {spec.key: spec for spec in map(read_spec, files)}
        self.judges = Path(self.layout.root).name != CHECK_OF_INSTALLATION

    def read(self) -> Results:
        """Return everything that the page shows of the folder."""
        try:
            return self._read()
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, (error.title, *first["loc"])))
            raise ResultsError(f"{self.layout.root}: {place}: {first['msg']}") from None

    def _read(self) -> Results:
        verdicts = read_verdicts(self.layout.verdicts)
        keys = list(self.specs or self.kept)
        metas = {key: self._metas(key) for key in keys}
        every = {name: meta for of_key in metas.values() for name, meta in of_key.items()}
        made = {key: self._origins(key) for key in keys}
        trained = [meta for meta in every.values() if _is_run(meta)]
        drawn = {key: self._drawn(key, metas[key]) for key in keys if not self._is_table(key)}
        return Results(
            name=Path(self.layout.root).name,
            judges=self.judges,
            claims=tuple(self._claim(record, drawn, keys) for record in verdicts),
            shown=tuple(self._shown(key, metas[key], made[key], drawn) for key in sorted(keys, key=order)),
            code=self._code({origin for of_key in made.values() for origin in of_key}),
            **summary(trained),
        )

    def _metas(self, key: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the meta of all results behind a figure or a table, by the name of their folder."""
        if key in self.specs:
            return {Path(folder).name: _intact(folder) for folder in self.specs[key].folders()}
        metas, file = self._kept_metas(key), self.kept[key]
        if SAME_AS in metas:
            named, other = metas, str(metas[SAME_AS])
            metas = self._kept_metas(other) if other in self.kept else {}
            if SAME_AS in metas or content_checksum(metas) != named.get(OWN_CHECKSUM):
                raise ResultsError(f"{file}: {SAME_AS}: found {other!r}, kept anew or not at all; keep both again")
            file = self.kept[other]
        return {name: checked_meta(meta, f"{file}: {name}") for name, meta in metas.items()}

    def _kept_metas(self, key: str) -> dict[str, Any]:
        """Return what the kept file of a figure or a table holds."""
        metas = read_json(self.kept[key])
        if not isinstance(metas, dict):
            raise ResultsError(f"{self.kept[key]}: should hold the meta of each result by its name")
        return metas

    def _origins(self, key: str) -> list[Origin]:
        folders = self.specs[key].folders() if key in self.specs else ()
        return list(dict.fromkeys(origin for folder in folders for origin in origins(folder, self.layout)))

    def _code(self, made: Iterable[Origin]) -> Code:
        codes = {code: sorted(origin.file for origin in made if origin.code == code) for code in (OTHER, UNRECORDED)}
        again = command(codes[OTHER], self.configfiles)
        return Code(results=len(set(made)), unrecorded=len(codes[UNRECORDED]), other=codes[OTHER], command=again)

    def _is_table(self, key: str) -> bool:
        return not Path(self.layout.figure(key, "png")).is_file() and Path(self.layout.table(key, "md")).is_file()

    def _drawn(self, key: str, metas: Mapping[str, Mapping[str, Any]]) -> Drawn:
        """Return the numbers of a figure and what is known of its panels; of kept figures, by their kept specs."""
        spec, more, file = self._spec(key), {}, Path(self.layout.spec(key))
        folders = {name: self._kept_folder(name) for name in metas}
        if key in self.specs:
            folders = {Path(folder).name: Path(folder) for folder in spec.folders()}
            has_facts = type(spec).facts is not FigureSpec.facts and all(Path(one).is_file() for one in spec.files())
            more = spec.facts(spec.read()) if has_facts else {}
        elif spec is not None:
            more = read_json(file).get("facts", {})
        runs = {
            name: _checked(folders[name], RunFacts.of, meta, folders[name])
            for name, meta in metas.items()
            if _is_run(meta)
        }
        known = _checked(file, panel_facts, spec or self.configured.shown.get(key), more, runs)
        file = numbers_file(self.layout, key)
        numbers = read_csv(file)
        return Drawn(file, numbers, _checked(file, curves, numbers), known)

    def _kept_folder(self, name: str) -> Path:
        """Return the folder of a kept run or of its evaluation; that of a run where there is neither."""
        places = [Path(self.layout.job(kind, name)) for kind in (EVALUATIONS, RUNS)]
        return next((place for place in places if place.is_dir()), places[-1])

    def _claim(self, record: Verdict, drawn: Mapping[str, Drawn], keys: Collection[str]) -> Claim:
        words = ("claim", "paper", "where", "text", "fails", "note", "what", "standing", "discussed")
        numbers = {name: getattr(record, name) for name in NUMBERS}
        return Claim(
            **{name: getattr(record, name) for name in words},
            **{name: None if value is None or math.isinf(value) else value for name, value in numbers.items()},
            published=_printed(record.published),
            verdict=record.verdict if self.judges else INCONCLUSIVE,
            judged=self.judges and record.judged,
            shown=record.shown if record.shown in keys else "",
            marks=tuple(_marks(record, drawn[record.shown].curves)) if record.shown in drawn else (),
        )

    def _shown(self, key: str, metas: Mapping[str, Any], made: Sequence[Origin], drawn: Mapping[str, Drawn]) -> Shown:
        """Return a figure or a table."""
        spec, settings = self._spec(key), self.configured.shown.get(key)
        paper = paper_of(key)
        title = getattr(spec or settings, "title", "")
        words = {
            "key": key,
            "paper": paper,
            "heading": number_of(key) + (f": {title}" if title else ""),
            "differences": tuple(summarised(spec)) if spec else (),
            "variant": bool(spec and variants(spec)),
            "reading": getattr(spec or settings, "reading", None) or "",
            "command": shlex.join(["snakemake", "-c2", key, *self._overlays()]),
            "notebook": self._notebook(key),
            "results": len(made) or len(metas),
            "other_code": sum(origin.code == OTHER for origin in made),
        }
        if key not in drawn:
            return Shown(**words, **_table(self.layout.table(key, "md")))
        caption, found = Path(self.layout.figure(key, "md")), drawn[key]
        runs = [run for panel in found.known.values() for run in panel.runs.values()]
        return Shown(
            **words,
            caption=_text(caption).strip() if key in self.specs or caption.is_file() else "",
            panels=_checked(found.file, panels, found.numbers, found.known),
            machines=len({run.machine for run in runs}),
            snapshots=_checked(found.file, snapshots, found.numbers),
            picture=picture(self.layout.figure(key, "png")),
        )

    def _overlays(self) -> list[str]:
        return ["--configfile", *self.configfiles] if self.configfiles else []

    def _notebook(self, key: str) -> str:
        file = self.layout.notebook(key, "html")
        return quote(Path(path.relpath(file, self.page.parent)).as_posix()) if Path(file).is_file() else ""

    def _spec(self, key: str) -> Spec | None:
        """Return the spec of a figure or table, live or kept; None where there is none."""
        file = Path(self.layout.spec(key))
        return self.specs.get(key) or (read_spec(file) if file.is_file() else None)


def _intact(folder: str) -> Mapping[str, Any]:
    """Return the meta of a result of which no file was changed."""
    meta = read_meta(folder)
    meta["settings"]  # which every job has: raises an error
    check_files(folder)
    return meta


def _is_run(meta: Mapping[str, Any]) -> bool:
    return "training_seconds" in (meta.get("wall") or {})


def _checked(file: str | Path, function: Callable, *arguments: Any) -> Any:
    """Return what a function makes of the numbers in a file; `ResultsError` if they are not what they should be."""
    try:
        return function(*arguments)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        text = f"{type(error).__name__}: {error}"
        raise ResultsError(f"{file}: does not hold the numbers of a figure ({' '.join(text.split())[:200]})") from None


def _marks(record: Verdict, of_figure: Mapping[str, Curves]) -> Iterator[Mark]:
    """Yield where a claim is measured in the panels of its figure, those that are drawn."""
    for region in record.regions:
        places = [
            place
            for curve in region.curves
            for place, (key, _, metric) in enumerate(of_figure.get(region.panel, ()))
            if key == curve and (not region.metric or metric in (region.metric, ""))
        ]
        if places:
            yield Mark(curves=places, **region.model_dump(exclude={"curves", "metric"}))


def _printed(value: str | float | None) -> str:
    """Return a printed number or words."""
    return f"{value:g}" if isinstance(value, float) else value or ""


def order(key: str) -> tuple:
    """Return what sorts keys as people do: Figure 2 before Figure 10, figures before tables."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", key))


def _content(file: str | Path) -> bytes:
    try:
        return bounded_bytes(file)
    except (OSError, UnreadableError) as error:
        raise ResultsError(f"{file}: cannot be read ({getattr(error, 'strerror', error)})") from None


def _text(file: str | Path) -> str:
    try:
        return _content(file).decode()
    except UnicodeDecodeError:
        raise ResultsError(f"{file}: cannot be read (is not UTF-8)") from None


def picture(file: str | Path) -> Picture:
    """Return a picture, smaller than the file: AVIF of `PICTURE_WIDTH` pixels."""
    from PIL import Image

    content = io.BytesIO()
    try:
        with Image.open(io.BytesIO(_content(file)), formats=["PNG"]) as large:
            height = max(1, round(large.height * PICTURE_WIDTH / large.width))
            smaller = large.convert("RGB").resize((PICTURE_WIDTH, height), Image.Resampling.LANCZOS)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ResultsError(f"{file}: cannot be read ({' '.join(str(error).split())})") from None
    smaller.save(content, "AVIF", quality=30, speed=8)
    address = f"data:image/avif;base64,{base64.b64encode(content.getvalue()).decode()}"
    return Picture(address=address, width=PICTURE_WIDTH, height=height)


def _table(file: str) -> dict[str, Any]:
    """Return the parts and notes of a table from its Markdown, as `text_tables.write_markdown` writes them."""
    parts, notes, caption, lines = [], [], "", []
    for line in [*_text(file).splitlines(), ""]:
        if line.startswith("|"):
            lines.append(tuple(cell.strip() for cell in line.strip("| ").split(" | ")))
        elif lines:
            parts.append(part(caption, lines[0], lines[2:]))
            lines = []
        if line.startswith("- "):
            notes.append(line[2:])
        elif line and not line.startswith("|"):
            caption = line.lstrip("# ")
    return {"parts": tuple(parts), "notes": tuple(notes)}


def part(caption: str, columns: Sequence[str], lines: Sequence[Sequence[str]]) -> Part:
    """Return a table of text, its columns of words first; lines of another length are filled with blanks."""
    width = len(columns)
    lines = tuple((*line, *[""] * width)[:width] for line in lines)
    words = width
    while words and all(NUMBER.fullmatch(line[words - 1]) for line in lines):
        words -= 1
    return Part(caption=caption, columns=tuple(columns), words=words, lines=lines)
