# SPDX-License-Identifier: BSD-3-Clause
"""Kept results: commits that computed them, agreement of figures with runs, absence of corrected defects."""

import copy
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from rbmbench.config.layers import read_yaml
from rbmbench.io.layout import CURVE, Layout
from rbmbench.io.meta import CHECKSUMS, OWN_CHECKSUM, SAME_AS, checked_meta
from rbmbench.io.results import numbers_file, read_csv, read_json, read_kept_metas, read_meta, read_table
from rbmbench.planning.chart import Chart, Table
from rbmbench.planning.specs import parse_spec
from rbmbench.reporting import charts

REFERENCE = Path(__file__).parents[3] / "results" / "reference"
KEPT = {f"{file.parts[-3]}/{file.stem}": file for file in sorted(REFERENCE.glob("*/meta/*.json"))}
RUNS = {
    f"{folder.parts[-3]}/{folder.name}": folder
    for kind in ("runs", "evaluations")
    for folder in sorted(REFERENCE.glob(f"*/{kind}/*"))
}
DEFECTS = read_yaml(REFERENCE / "defects.yaml")
EARLY = "2026-11-22T23:57:01+00:00"


class Made(NamedTuple):
    """Commit that computed a kept result or a part of it, and time of its start or end."""

    commit: str
    time: str


def entries(file: Path) -> dict[str, Any]:
    """Return the metas of a kept figure or table by name, or those of the figure that its file refers to."""
    values = read_kept_metas(file)
    return entries(file.with_name(f"{values[SAME_AS]}.json")) if SAME_AS in values else values


def origins(meta: dict[str, Any]) -> Iterator[Made]:
    """Yield commits and times of a result, its parts and its evaluation."""
    for part in (meta, *meta.get("parts", ()), *([meta["evaluation"]] if "evaluation" in meta else ())):
        yield Made(part["commit"], part.get("started", part["finished"]))


def contains(value: Any, pattern: Any) -> bool:
    """Return whether plain data match a pattern of the list of defects."""
    if pattern == "any":
        return value is not None
    if isinstance(value, list):
        return any(contains(each, pattern) for each in value)
    if isinstance(pattern, list):
        return any(contains(value, each) for each in pattern)
    if isinstance(pattern, dict):
        return isinstance(value, dict) and all(contains(value.get(key), each) for key, each in pattern.items())
    return value == pattern


def defects_of(meta: dict[str, Any]) -> list[str]:
    """Return the names of the defects that affect a result."""
    return [
        name
        for name, defect in DEFECTS.items()
        if contains(meta["settings"], defect["affects"]) and any(made.time < defect["mended"] for made in origins(meta))
    ]


@pytest.mark.parametrize("key", KEPT)
def test_kept_results_have_checksum_commit_and_time(key):
    for name, meta in entries(KEPT[key]).items():
        checked_meta(meta, f"{key}: {name}")
        assert OWN_CHECKSUM in meta
        for made in origins(meta):
            assert re.fullmatch("[0-9a-f]{40}", made.commit), name
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", made.time), name


@pytest.mark.parametrize("scale", ["desktop", "paper"])
def test_kept_figures_and_tables_have_specs_and_metas_of_their_jobs(scale):
    folder = REFERENCE / scale
    specs = {file.stem: parse_spec(read_json(file), file) for file in sorted((folder / "specs").glob("*.json"))}
    assert specs.keys() == {file.stem for file in (folder / "meta").glob("*.json")}
    shown = [*(folder / "data").iterdir(), *(folder / "figures").iterdir(), *(folder / "tables").iterdir()]
    assert {file.name.partition(".")[0] for file in shown} <= specs.keys()
    figures = {key for key in specs if "_fig" in key}
    assert figures == {file.stem for file in (folder / "figures").glob("*.png")}
    assert figures == {charts.read(Chart, file).key for file in (folder / "figures").glob("*.json")}
    for file in (folder / "tables").glob("*.json"):
        assert charts.read(Table, file).key == file.stem
    for key, spec in specs.items():
        assert {Path(place).name for place in spec.folders()} <= entries(KEPT[f"{scale}/{key}"]).keys(), key
        assert '"results/' not in (folder / "specs" / f"{key}.json").read_text(), key


@pytest.mark.parametrize("key", KEPT)
def test_kept_results_are_newer_than_corrections_of_defects(key):
    defect_lists = {name: defects_of(meta) for name, meta in entries(KEPT[key]).items()}
    assert not {name: defects for name, defects in defect_lists.items() if defects}


@pytest.mark.parametrize(
    ("key", "change", "expected"),
    [
        ("paper/ucd_fig2", {}, []),
        ("paper/ucd_fig2", {"started": EARLY}, ["coupling_in_float32"]),
        ("paper/ucd_fig2", {"parts": [{"commit": "", "finished": EARLY}]}, ["coupling_in_float32"]),
        ("paper/ucd_fig5", {"started": EARLY}, ["coupling_in_float32"]),
        ("paper/ucd_fig12", {"started": "2026-11-23T00:16:15+00:00"}, ["variance_of_the_mean"]),
        ("paper/popcd_fig2", {"started": "2026-11-21T00:00:00+00:00"}, []),
    ],
)
def test_defects_of_are_those_corrected_after_the_result(key, change, expected):
    meta = list(entries(KEPT[key]).values())[-1]
    assert defects_of(copy.deepcopy(meta) | change) == expected


def test_commits_of_affected_results_contain_the_correction():
    # Checked as far as the history is available: a clone may be shallow, an archive has none.

    def git(*command: str) -> int:
        return subprocess.run(["git", "-C", str(REFERENCE), *command], capture_output=True).returncode

    for defect in DEFECTS.values():
        results = [meta for file in KEPT.values() for meta in entries(file).values()]
        affected = [meta for meta in results if contains(meta["settings"], defect["affects"])]
        commits = {made.commit for meta in affected for made in origins(meta)}
        for commit in commits:
            # 0: an ancestor, 1: not an ancestor, other codes: unknown commit.
            assert git("merge-base", "--is-ancestor", defect["commit"], commit) != 1, commit


@pytest.mark.parametrize("run", RUNS)
def test_kept_runs_have_the_means_of_their_figures(run):
    folder, layout = RUNS[run], Layout(str(RUNS[run].parents[1]))
    scale, name = run.split("/")
    meta, curve = read_meta(folder), read_table(folder, CURVE)  # compares its checksum
    assert CURVE in meta[CHECKSUMS]
    means = curve.groupby(["metric", "iteration"])["value"].mean()
    keys = [key.partition("/")[2] for key in KEPT if key.startswith(scale) and "_fig" in key]
    figures = [key for key in keys if name in entries(KEPT[f"{scale}/{key}"])]
    assert figures
    for key in figures:
        assert entries(KEPT[f"{scale}/{key}"])[name] == json.loads(json.dumps(meta)), key
        numbers, panels = read_csv(numbers_file(layout, key)), read_json(layout.spec(key))["panels"]
        lines = [(panel["name"], line) for panel in panels for line in panel["runs"]]
        for panel, algorithm in ((panel, line["algorithm"]) for panel, line in lines if line["folder"] == name):
            shown = numbers[(numbers["panel"] == panel) & (numbers["algorithm"] == algorithm)]
            assert len(shown)
            expected = means.loc[list(zip(shown["metric"], shown["iteration"], strict=True))]
            np.testing.assert_allclose(shown["mean"], expected, rtol=1e-9)
