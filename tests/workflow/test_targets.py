# SPDX-License-Identifier: BSD-3-Clause
"""Targets of the workflow and their files at all scales."""

import re

import pytest
import yaml
from tiny_paper import FILES as FILES_OF_TINY

FIGURE_FILES = [f"figures/{{}}.{ending}" for ending in ("pdf", "svg", "png", "md")]
FIGURE_FILES += ["data/{}.csv", "notebooks/{}.ipynb", "notebooks/{}.html"]
TABLE_FILES = ["tables/{}.csv", "tables/{}.md", "tables/{}.tex", "notebooks/{}.ipynb", "notebooks/{}.html"]
CLAIM_FILES = ["claims.csv", "claims.json", "notebooks/claims.ipynb", "notebooks/claims.html"]
FILES = {
    **{f"popcd_fig{n}": [file.format(f"popcd_fig{n}") for file in FIGURE_FILES] for n in (1, 2, 3)},
    "popcd_table1": [file.format("popcd_table1") for file in TABLE_FILES],
    "claims": CLAIM_FILES,
    "report": ["report/index.html"],
    "benchmarks": [
        *(f"benchmarks/steps.{ending}" for ending in ("csv", "md", "meta.json", "pdf", "png")),
        *(f"notebooks/benchmarks.{ending}" for ending in ("ipynb", "html")),
    ],
}
FILES["all_figures"] = FILES["popcd_fig1"] + FILES["popcd_fig2"] + FILES["popcd_fig3"]
FILES["all_tables"] = FILES["popcd_table1"]
FILES["paper_popcd"] = FILES["all_figures"] + FILES["all_tables"]
FILES["all"] = FILES["paper_popcd"] + FILES["claims"] + FILES["report"] + ["benchmarks/run_times.csv"]
SCALES = {"paper": []} | {name: ["--configfile", f"config/{name}.yaml"] for name in ("desktop", "smoke")}


def planned_files(workspace, scale, target) -> set[str]:
    return set(workspace.planned(*SCALES[scale], "--", target))


def files_of(workspace, targets) -> tuple[dict[str, set[str]], str]:
    """Return the files of targets of the smoke scale, and the output."""
    options = "--dry-run", "--logger-rbmbench-all-messages"
    output = workspace.plan(*options, *SCALES["smoke"], "--", *targets)
    files = {target: set() for target in targets}
    for target, names in re.findall(r"^(?:local)?rule (\w+):\n    (?:input|output): (.+)$", output, re.MULTILINE):
        files.get(target, set()).update(names.split(", "))
    return files, output


def test_targets_make_their_files(workspace):
    workspace.keep_one_paper("popcd")
    targets = sorted(FILES.keys() - {"all"})
    files, output = files_of(workspace, [*targets, "forecast"])
    # Jobs with a message show it in place of their files.
    assert re.search(r"^Job \d+: forecast$", output, re.MULTILINE)
    for target in targets:
        assert {f"results/smoke/{file}" for file in FILES[target]} <= files[target], target


def test_the_arena_is_a_target_and_part_of_all(workspace):
    file = workspace.folder / "config/smoke.yaml"
    values = yaml.safe_load(file.read_text(encoding="utf-8"))
    papers = {key: values["overrides"][key] for key in ("cd_bias_bound", "arena")}
    file.write_text(yaml.safe_dump(values | {"papers": list(papers), "overrides": papers}), encoding="utf-8")
    files, _ = files_of(workspace, ["arena", "all_figures", "all"])
    arena = {"results/smoke/figures/arena_fig1.png", "results/smoke/tables/arena_table1.md"}
    assert arena <= files["arena"] <= files["all"]
    assert "results/smoke/figures/cd_bias_bound_fig1.png" in files["all_figures"]
    assert not [file for file in files["all_figures"] if "arena" in file]


@pytest.mark.parametrize(
    "scale", [pytest.param(scale, marks=[] if scale == "smoke" else pytest.mark.slow) for scale in SCALES]
)
def test_target_all_has_the_files_of_all_targets(workspace, scale):
    planned = planned_files(workspace, scale, "all")
    assert {f"results/{scale}/{file}" for file in FILES["all"]} <= planned
    assert all(file.startswith(f"results/{scale}/") for file in planned - {"output_file"})


def test_all_is_the_default_target(tiny):
    assert tiny.jobs(*FILES_OF_TINY) == tiny.jobs(*FILES_OF_TINY, "--", "all") != {}


def test_an_invalid_claim_raises_a_one_line_error_before_any_job(workspace):
    file = workspace.folder / "config/claims/ucd.yaml"
    file.write_text(file.read_text().replace("kind: final_gap", "kind: final_gpa", 1))
    output = workspace.plan(*SCALES["smoke"], "--", "all", code=2)
    [error] = [printed for printed in output.splitlines() if "error" in printed.lower()]
    assert error.startswith("rbmbench: error: config/claims/ucd.yaml: claim 'ucd_1.fig2.a.cd_1': kind: unknown kind")
    assert "Traceback" not in output
    assert not (workspace.folder / "results").is_dir()


@pytest.mark.slow
def test_names_of_configurations_are_not_run_by_a_shell(tiny):
    name = "config/x.yaml;touch y;#.yaml"
    (tiny.folder / "config/tiny.yaml").rename(tiny.folder / name)
    tiny.snakemake("--configfile", name, "--", "forecast")
    assert (tiny.folder / "results/tiny/forecast.csv").is_file()
    assert not (tiny.folder / "y").exists()
