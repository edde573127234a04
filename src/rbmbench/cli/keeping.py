# SPDX-License-Identifier: BSD-3-Clause
"""The subcommands that keep the small files of real results, and describe results for archives."""

import gzip
from argparse import Namespace
from pathlib import Path
from tempfile import TemporaryDirectory

from rbmbench.base.parsing import parse
from rbmbench.config.layers import read_yaml
from rbmbench.io.atomic import replaced, write_json
from rbmbench.io.guard import bounded_bytes
from rbmbench.io.layout import CURVE, EVALUATIONS, META, RUNS, TABLE_ENDINGS, Layout
from rbmbench.io.meta import OWN_CHECKSUM, SAME_AS, content_checksum
from rbmbench.io.results import check_writable, read_json, read_meta, read_table, reading
from rbmbench.planning.chart import Table
from rbmbench.planning.specs import parse_spec, with_places
from rbmbench.reporting import charts
from rbmbench.reporting.claims import judge
from rbmbench.reporting.claims.files import claims_of
from rbmbench.reporting.claims.verdict import Verdict, read_verdicts, write_verdicts
from rbmbench.reporting.redraw import redraw


def keep(arguments: Namespace) -> None:
    """Copy figures and tables of a scale, the metas of their jobs, and the verdicts that concern them.

    Pictures are drawn anew. Earlier verdicts stay unless there are new ones, and are judged by the current claims. Of
    single runs and evaluations curve and meta are copied; in results/SCALE/ they count as done. Nothing is written
    before all files are read and checked, and all pictures are drawn.
    """
    arguments.folder = arguments.folder or Path(Layout.of(arguments.scale).root)
    source, target = Layout(str(arguments.folder)), Layout(str(arguments.out))
    outputs = {key: read_json(source.spec(key)) for key in (*arguments.figures, *arguments.tables)}
    folders = {key: tuple(parse_spec(values, source.spec(key)).folders()) for key, values in outputs.items()}
    claims = {file.stem: read_yaml(file) for file in arguments.claims}
    claims_values = {"scale": arguments.scale, "outputs": list(outputs.values()), "claims": claims}
    spec = parse(judge.ClaimsSpec, claims_values, "claims")
    check_writable(arguments.out)
    arguments.out.mkdir(parents=True, exist_ok=True)
    metas, copies = _metas(folders), _copies(arguments, source, target)
    verdicts = _with_earlier(judge.evaluate(spec), target, spec)
    # Nothing is written before everything was read.
    for path, content in copies.items():
        with replaced(path) as temporary:
            temporary.write_bytes(content)
    for key, kept in metas.items():
        write_json(arguments.out / "meta" / f"{key}.json", kept, indent=0)
    if arguments.out.resolve() != arguments.folder.resolve():  # there the specs with the folders of runs stay
        for key, values in outputs.items():
            write_json(target.spec(key), with_places(values, lambda place: Path(place).name))
    write_verdicts(verdicts, target.claims)


def _copies(arguments: Namespace, source: Layout, target: Layout) -> dict[str, bytes]:
    copies = {}
    for key in arguments.figures:
        copies[target.figure(key, "json")] = _content(source.figure(key, "json"))
        with TemporaryDirectory(prefix=".", dir=arguments.out) as folder:
            redraw(source.root, key, folder)
            copies |= {f"{target.root}/figures/{file.name}": file.read_bytes() for file in Path(folder).glob("*/*")}
        # The numbers behind a figure are long and compress well; pandas reads them compressed.
        copies[target.packed_numbers(key)] = gzip.compress(_content(source.numbers(key)), mtime=0)
    for key in arguments.tables:
        charts.read(Table, source.table(key, "json"))
        copies |= {target.table(key, ending): _content(source.table(key, ending)) for ending in TABLE_ENDINGS}
    for folder in arguments.runs:
        read_table(folder, CURVE)
        kind = EVALUATIONS if folder.parent.name == EVALUATIONS else RUNS
        copies |= {target.job(kind, folder.name, name): _content(folder / name) for name in (CURVE, META)}
    return copies


def _content(source: str | Path) -> bytes:
    with reading(source):
        return bounded_bytes(source)


def _with_earlier(verdicts: list[Verdict], layout: Layout, spec: judge.ClaimsSpec) -> list[Verdict]:
    """Return the verdicts with a measured value, and for other claims those of the folder, judged by current claims.

    Verdicts on papers that are not given stay. Papers keep the order of the folder; new ones come at the end.
    """
    measured = {record.claim: record for record in verdicts if record.measured is not None}
    claims = {claim.id: claim for paper, file in spec.claims.items() for claim in claims_of(file, paper)}
    papers = {record.paper for record in verdicts}
    earlier = read_verdicts(layout.verdicts) if Path(layout.verdicts).is_file() else ()
    kept = {
        record.claim: record.of(claims[record.claim]) if record.claim in claims else record
        for record in earlier
        if record.claim not in measured and (record.claim in claims or record.paper not in papers)
    }
    order = list(dict.fromkeys(record.paper for record in (*earlier, *verdicts)))
    places = {record.claim: place for place, record in enumerate(verdicts)}
    records = (measured | kept).values()
    return sorted(records, key=lambda record: (order.index(record.paper), places.get(record.claim, 0)))


def _metas(folders_of: dict[str, tuple[str, ...]]) -> dict[str, dict[str, object]]:
    """Return the metas of all jobs behind each figure and table, by the folder's name.

    Of several with the same folders only the first has them; the others have its key and the checksum of its metas.
    """
    metas: dict[str, dict[str, object]] = {}
    firsts: dict[tuple[str, ...], str] = {}
    for key, folders in folders_of.items():
        first = firsts.setdefault(folders, key)
        if first == key:
            metas[key] = {Path(folder).name: read_meta(folder) for folder in folders}
        else:
            metas[key] = {SAME_AS: first, OWN_CHECKSUM: content_checksum(metas[first])}
    return metas
