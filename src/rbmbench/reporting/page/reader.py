# SPDX-License-Identifier: BSD-3-Clause
"""Read a folder of results, of the workflow or kept, as the contents of the page.

A folder of the workflow has specs, runs and notebooks. A kept one has ``meta/KEY.json`` in their place, and compressed
numbers. Both have verdicts, charts and tables as JSON, and pictures.
"""

import base64
import io
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import path
from pathlib import Path
from urllib.parse import quote

from rbmbench.base.errors import ResultsError
from rbmbench.io.guard import bounded_bytes
from rbmbench.io.layout import Layout
from rbmbench.io.meta import OWN_CHECKSUM, SAME_AS, Meta, checked_meta, content_checksum
from rbmbench.io.results import check_files, read_kept_metas, read_meta
from rbmbench.planning.chart import Chart, Table
from rbmbench.planning.specs import Shown as Spec
from rbmbench.planning.specs import number_of, read_spec
from rbmbench.reporting.charts import is_trained, read_shown
from rbmbench.reporting.claims.files import ClaimFile, claims_of
from rbmbench.reporting.claims.findings import answers
from rbmbench.reporting.claims.verdict import (
    CHECK_OF_INSTALLATION,
    INCONCLUSIVE,
    NOT_RUN,
    Answered,
    Measured,
    Verdict,
    read_verdicts,
)
from rbmbench.reporting.page.model import Claim, Code, Mark, Picture, Results, Shown
from rbmbench.reporting.page.panels import panel_of
from rbmbench.reporting.page.provenance import OTHER, UNRECORDED, command, origins, summary

PICTURE_WIDTH = 600
"""Pixels; the pictures of a page are a fallback, and curves are drawn from numbers."""


@dataclass
class Folder:
    """One folder of results. `ResultsError` of all its methods if a file is missing or damaged."""

    root: Path
    """Such as results/paper or results/reference/paper; its name is that of the scale."""
    page: Path
    """The page to write, for addresses relative to it."""
    configfiles: Sequence[str]
    """Overlays of the configuration, for the commands on the page."""
    chosen: Sequence[Path] = ()
    """Specs of the figures and tables to show; by default all of the folder."""
    claim_files: Mapping[str, ClaimFile] = field(default_factory=dict)
    """Claims and findings by paper, in the order of the papers on the page."""
    is_part: bool = False
    """Whether figures or tables of the papers are omitted; findings without a claim on others are, too."""

    def __post_init__(self) -> None:
        self.layout, self.name = Layout(str(self.root)), self.root.resolve().name
        self.judges = self.name != CHECK_OF_INSTALLATION
        self.kept = {} if self.chosen else {file.stem: file for file in sorted((self.root / "meta").glob("*.json"))}
        # Kept specs are for redrawing; the results behind them are in the meta.
        files = () if self.kept else self.chosen or sorted(Path(self.layout.spec("x")).parent.glob("*_*.json"))
        self.specs: dict[str, Spec] = {spec.key: spec for spec in map(read_spec, files)}

    def read(self) -> Results:
        """Return the contents of the page for this folder."""
        # A folder of the workflow with few figures may have no verdicts yet.
        is_judged = Path(self.layout.verdicts).exists() or not self.specs
        verdicts = read_verdicts(self.layout.verdicts) if is_judged else ()
        for paper, file in self.claim_files.items():
            ids = {claim.id for claim in claims_of(file, f"claims/{paper}.yaml")}
            for record in verdicts:
                if record.paper == paper and record.claim not in ids:
                    message = f"unknown claim {record.claim!r}; allowed: those of claims/{paper}.yaml; judge again"
                    raise ResultsError(f"{self.layout.verdicts}: {message}")
        keys = list(self.specs or self.kept)
        metas = {key: self._metas(key) for key in keys}
        code: dict[str, set[tuple[str, str]]] = {key: set() for key in keys}  # files and the state of their code
        for key, spec in self.specs.items():
            code[key] = {origin for folder in spec.folders() for origin in origins(folder, self.layout)}
        by_folder = {name: meta for group in metas.values() for name, meta in group.items()}
        items = {key: read_shown(self.layout, key) for key in sorted(keys, key=order)}
        # By paper, figure and table, without those of figures that are not shown.
        places = {paper: place for place, paper in enumerate(self.claim_files)}
        records = [record for record in verdicts if record.shown in items or record.reason != NOT_RUN]
        records.sort(key=lambda record: (places.get(record.paper, len(places)), order(record.shown)))
        return Results(
            name=self.name,
            judges=self.judges,
            findings=tuple(self._findings(verdicts, items)),
            claims=tuple(self._claim(record, items.get(record.shown)) for record in records),
            shown=tuple(self._shown(item, len(metas[key]), code[key]) for key, item in items.items()),
            code=self._code(set().union(*code.values())),
            **summary([meta for meta in by_folder.values() if is_trained(meta)]),
        )

    def _findings(self, verdicts: Sequence[Verdict], items: Mapping[str, Chart | Table]) -> Iterator[Answered]:
        """Yield the findings of papers with any answer; if figures are omitted, those with a claim on the others."""
        papers = {item.paper for item in items.values()} if self.judges else ()
        claims = {record.claim for record in verdicts if record.shown in items}
        for paper in (paper for paper in self.claim_files if paper in papers):
            findings = list(answers(paper, self.claim_files[paper], verdicts))
            if any(finding.answer != "not run" for finding in findings):
                yield from (finding for finding in findings if not self.is_part or claims & set(finding.claims))

    def _metas(self, key: str) -> Mapping[str, Meta]:
        """Return the meta of all results behind a figure or a table, by the name of their folder."""
        if key in self.specs:
            metas = {}
            for folder in self.specs[key].folders():
                metas[Path(folder).name] = meta = read_meta(folder)
                meta["settings"]  # a key of all jobs: raises an error without it
                check_files(folder)
            return metas
        metas, file = read_kept_metas(self.kept[key]), self.kept[key]
        if SAME_AS in metas:
            reference, other = metas, str(metas[SAME_AS])
            metas = read_kept_metas(self.kept[other]) if other in self.kept else {}
            if SAME_AS in metas or content_checksum(metas) != reference.get(OWN_CHECKSUM):
                raise ResultsError(f"{file}: {SAME_AS}: names {other!r}, kept anew or not at all; keep both again")
            file = self.kept[other]
        return {name: checked_meta(meta, f"{file}: {name}") for name, meta in metas.items()}

    def _code(self, files: Collection[tuple[str, str]]) -> Code:
        codes = {code: sorted(file for file, state in files if state == code) for code in (OTHER, UNRECORDED)}
        again = command(["all", "--forcerun", *codes[OTHER]], self.configfiles) if codes[OTHER] else ""
        return Code(results=len(files), unrecorded=len(codes[UNRECORDED]), other=codes[OTHER], command=again)

    def _claim(self, record: Verdict, item: Chart | Table | None) -> Claim:
        values = {name: getattr(record, name) for name in Measured.model_fields}
        values |= {name: None for name in ("above", "below") if values[name] in (-math.inf, math.inf)}
        return Claim(
            **values | {"shown": item.key if item else ""},
            note=record.note,
            published=f"{printed:g}" if isinstance(printed := record.published, float) else printed or "",
            verdict=record.verdict if self.judges else INCONCLUSIVE,
            judged=self.judges and record.judged,
            marks=tuple(_marks(record, item)) if isinstance(item, Chart) else (),
        )

    def _shown(self, item: Chart | Table, results: int, code: Collection[tuple[str, str]]) -> Shown:
        key = item.key
        notebook = self.layout.notebook(key, "html")
        has_notebook = Path(notebook).is_file()
        words = {name: getattr(item, name) for name in ("key", "paper", "reading", "differences", "variant")}
        words |= {
            "heading": number_of(key) + (f": {item.title}" if item.title else ""),
            "command": command([key], self.configfiles),
            "notebook": quote(Path(path.relpath(notebook, self.page.parent)).as_posix()) if has_notebook else "",
            "results": len(code) or results,
            "other_code": sum(state == OTHER for _, state in code),
        }
        if isinstance(item, Table):
            return Shown(**words, parts=item.parts, notes=item.notes)
        entries = (*item.legend.entries, *(entry for panel in item.panels for entry in panel.legend))
        return Shown(
            **words,
            caption=item.caption,
            panels=tuple(panel_of(panel) for panel in item.panels if panel.series or panel.bars),
            shade=item.layout.shade,
            own_looks=tuple(entry for entry in entries if entry.key and (entry.color or entry.dash)),
            machines=item.machines,
            images=sorted(item.images, key=lambda image: image.iteration or 0),  # equal ones side by side
            picture=picture(self.layout.figure(key, "png")),
        )


def _marks(record: Verdict, chart: Chart) -> Iterator[Mark]:
    """Yield the regions of the evidence of a claim in the drawn panels of its figure."""
    panels = {panel.name: panel for panel in chart.panels}
    for region in record.regions:
        series = panels[region.panel].series if region.panel in panels else ()
        places = [
            place
            for key in region.curves
            for place, curve in enumerate(series)
            if curve.key == key and region.metric in (curve.metric, "")
        ]
        if places:
            yield Mark(curves=places, **region.model_dump(exclude={"curves", "metric"}))


def order(key: str) -> tuple:
    """Return the key of natural sorting: Figure 2 before Figure 10, figures before tables."""
    return tuple(int(piece) if piece.isdigit() else piece for piece in re.split(r"(\d+)", key))


def picture(file: str | Path) -> Picture:
    """Return a picture, smaller than the file: AVIF of `PICTURE_WIDTH` pixels."""
    from PIL import Image

    content = io.BytesIO()
    try:
        with Image.open(io.BytesIO(bounded_bytes(file)), formats=["PNG"]) as large:
            height = max(1, round(large.height * PICTURE_WIDTH / large.width))
            smaller = large.convert("RGB").resize((PICTURE_WIDTH, height), Image.Resampling.LANCZOS)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise ResultsError(f"{file}: cannot be read ({reason})") from None
    smaller.save(content, "AVIF", quality=30, speed=8)
    address = f"data:image/avif;base64,{base64.b64encode(content.getvalue()).decode()}"
    return Picture(address=address, width=PICTURE_WIDTH, height=height)
