"""The subcommand that keeps the small files of real results, for the repository."""

import gzip
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from rbmbench.base.errors import ResultsError
from rbmbench.base.parsing import parse
from rbmbench.io.atomic import replaced

__all__ = ["keep"]

PLACES = {
    "figures": ("figures/{key}.png", "figures/{key}.pdf", "data/{key}.csv"),
    "tables": ("tables/{key}.csv", "tables/{key}.md", "tables/{key}.tex"),
}


def keep(arguments: Namespace) -> None:
    """Copy figures and tables of a scale with the meta of all they rest on, and the verdicts that concern them.

    Verdicts that were kept before stay, unless they are given anew. Of single runs the curve and meta are copied: laid
    below results/SCALE/runs/ again, they count as done, so that a long figure can be made in parts.
    """
    from rbmbench.io.results import write_json
    from rbmbench.reporting.claims import judge
    from rbmbench.reporting.spec_files import FIGURES, TABLES, read_values

    kept: dict[str, list[dict[str, Any]]] = {"figures": [], "tables": []}
    for kind, files in PLACES.items():
        for key in getattr(arguments, kind):
            spec = read_values(arguments.folder / "specs" / f"{key}.json", FIGURES | TABLES)
            kept[kind].append(spec)
            for file in (name.format(key=key) for name in files):
                # The numbers behind a figure are long and compress well; pandas reads them as they are.
                if file.startswith("data/"):
                    _copy(arguments.folder / file, arguments.out / f"{file}.gz", partial(gzip.compress, mtime=0))
                else:
                    _copy(arguments.folder / file, arguments.out / file)
            write_json(arguments.out / "meta" / f"{key}.json", _metas(spec))
    for folder in arguments.runs:
        for name in ("curve.parquet", "meta.json"):
            _copy(folder / name, arguments.out / "runs" / folder.name / name)
    given = {"key": "claims", "scale": arguments.scale, **kept, "claims": _claims(arguments.claims)}
    verdicts = judge.evaluate(parse(judge.ClaimsSpec, given, "claims"))
    judge.write_claims(_with_earlier(verdicts, arguments.out / "claims.csv"), arguments.out / "claims.csv")


def _with_earlier(verdicts: Any, file: Path) -> Any:
    """Return the verdicts that have a measured value, and in the other claims' places those that the file has.

    Papers stay in the order in which the file has them; new ones come at the end.
    """
    import pandas as pd

    from rbmbench.reporting.claims.judge import read_claims

    given = verdicts[verdicts["measured"].notna()]
    earlier = read_claims(file) if file.is_file() else given.iloc[:0]
    stays = earlier["claim"].isin(verdicts["claim"]) | ~earlier["paper"].isin(verdicts["paper"])
    known = earlier[stays & ~earlier["claim"].isin(given["claim"])]
    parts = [part for part in (given, known) if not part.empty]
    if not parts:
        return given
    papers = {paper: place for place, paper in enumerate(pd.concat([earlier["paper"], given["paper"]]).unique())}
    claims = {claim: place for place, claim in enumerate(verdicts["claim"])}
    lines = pd.concat(parts, ignore_index=True)
    places = pd.DataFrame({"paper": lines["paper"].map(papers), "claim": lines["claim"].map(claims)})
    # Lines of other papers have no place among the claims; sorting keeps their order.
    return lines.loc[places.sort_values(["paper", "claim"]).index].reset_index(drop=True)


def _copy(source: Path, target: Path, change: Callable[[bytes], bytes] = bytes) -> None:
    if not source.is_file():
        raise ResultsError(f"{source}: is missing; make it first, then keep it")
    with replaced(target) as temporary:
        temporary.write_bytes(change(source.read_bytes()))


def _claims(files: list[Path]) -> dict[str, Any]:
    from rbmbench.config.loading import read_yaml

    return {file.stem: read_yaml(file) for file in files}


def _metas(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the meta of every run and measurement that a figure or table rests on, by the folder's name."""
    from rbmbench.io.results import read_meta

    runs = [run["folder"] for panel in spec.get("panels", []) for run in panel["runs"]]
    runs += [panel["samples"]["folder"] for panel in spec.get("panels", []) if "samples" in panel]
    for row in spec.get("rows", []):
        runs += [row["model"], *(estimate["folder"] for estimate in row["estimates"])]
    runs += [part["folder"] for key in ("runs", "couplings") for part in spec.get(key, [])]
    return {Path(folder).name: read_meta(folder) for folder in runs}
