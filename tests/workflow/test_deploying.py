# SPDX-License-Identifier: BSD-3-Clause
"""The workflow in other folders: by its path, as a module, and from a remote repository."""

import re
import subprocess
import zipfile
from pathlib import Path

import pytest
import yaml
from tiny_paper import add_tiny_paper
from workspaces import Workspace, new_workspace

FIGURE = "cd_bias_bound_fig1"


@pytest.fixture
def empty(tmp_path) -> Workspace:
    """An empty folder."""
    folder = tmp_path / "empty"
    folder.mkdir()
    return Workspace(folder)


@pytest.fixture
def own_repository(repository, tmp_path, monkeypatch) -> Path:
    """A git repository of the workflow with the tag v7, in place of a public one."""
    target = tmp_path / "elsewhere"
    target.mkdir()
    new_workspace(repository, target)
    git = ("git", "-C", target, "-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "Begin"), ("tag", "v7")):
        subprocess.run([*git, *arguments], check=True)
    settings = tmp_path / "gitconfig"
    settings.write_text(f'[url "file://{target}"]\n\tinsteadOf = https://github.com/nobody/workflow\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return target


def as_module(workspace: Workspace, snakefile: str, more: str = "") -> None:
    """Write a workflow with that of rbmbench as a module."""
    text = f"module rbmbench:\n    snakefile: {snakefile}\n{more}\nuse rule * from rbmbench as rbm_*\n"
    (workspace.folder / "Snakefile").write_text(text)


def test_workflow_runs_by_its_path(repository, empty):
    (empty.folder / "own.yaml").write_text("scale: own\npapers: [cd_bias_bound]\n")
    options = "-s", str(repository / "workflow/Snakefile"), "--configfile", "own.yaml"
    expected = {f"results/own/figures/{FIGURE}.png", "results/own/claims.csv", "results/own/report/index.html"}
    assert expected <= set(empty.planned(*options))


def test_workflow_runs_in_the_folder_of_an_option(repository, workspace, tmp_path):
    target = tmp_path / "there"
    workspace.keep_one_paper("cd_bias_bound")
    options = "-d", str(target), "--configfile", "config/smoke.yaml"
    workspace.snakemake(*options, "--", "results/smoke/datasets/diag.npz")
    assert [path.name for path in target.glob("results/smoke/datasets/*")] == ["diag.npz"]
    assert not (workspace.folder / "results").exists()
    templates = re.findall(r"--template (\S+)", workspace.plan(*options, "-np", "--", FIGURE, "claims"))
    assert len(templates) == 2
    assert all((target / template).is_file() for template in templates)


def test_configuration_and_notebooks_of_the_user_have_priority(repository, empty):
    for folder in ("config/papers", "config/claims", "notebooks"):
        (empty.folder / folder).mkdir(parents=True)
    add_tiny_paper(empty)
    (empty.folder / "config/tiny.yaml").rename(empty.folder / "config/config.yaml")
    (empty.folder / "notebooks/learning_curves.ipynb").write_bytes((repository / "notebooks/figure.ipynb").read_bytes())
    output = empty.plan("-s", str(repository / "Snakefile"), "-np", "--", "tiny_fig1", "claims")
    assert "results/tiny/figures/tiny_fig1.png" in output
    assert "--template notebooks/learning_curves.ipynb" in output
    assert f"--template {repository}/notebooks/claims.ipynb" in output
    assert "--claims config/claims/tiny.yaml" in output


def test_workflow_runs_as_a_module_with_values_of_another_workflow(repository, empty):
    (empty.folder / "config").mkdir()
    (empty.folder / "config/config.yaml").write_text("samples: [a, b]\nrbm: {scale: mine, papers: [cd_bias_bound]}\n")
    text = 'configfile: "config/config.yaml"\n'
    as_module(empty, repr(str(repository / "workflow/Snakefile")), '    config: config["rbm"]\n')
    (empty.folder / "Snakefile").write_text(text + (empty.folder / "Snakefile").read_text())
    planned = empty.planned("--", "rbm_all")
    assert f"results/mine/figures/{FIGURE}.png" in planned
    assert not [file for file in planned if "popcd" in file]


def test_a_module_with_a_prefix_raises_a_one_line_error(repository, empty):
    as_module(empty, repr(str(repository / "workflow/Snakefile")), '    prefix: "sub"\n')
    output = empty.plan("-n", code=2)
    assert "rbmbench: error: module: prefix: is not supported" in output
    assert "Traceback" not in output


@pytest.mark.slow
def test_workflow_runs_as_a_module_of_a_remote_repository(own_repository, empty, tmp_path):
    source = 'github("nobody/workflow", path="workflow/Snakefile", tag="v7")'
    as_module(empty, source, "    config: {'scale': 'mine', 'papers': ['cd_bias_bound', 'arena']}\n")
    output = empty.plan("-np", "--", f"rbm_{FIGURE}")
    assert f"results/mine/figures/{FIGURE}.png" in output
    assert "github.com/nobody/workflow/v7/notebooks/learning_curves.ipynb" in output
    fetched = {path.name for path in tmp_path.rglob("cache/**/v7/config/**/*.yaml")}
    assert fetched == {"config.yaml", "cd_bias_bound.yaml", "arena.yaml"}


@pytest.mark.slow
def test_workflow_writes_a_figure_and_a_report_in_an_empty_folder(repository, empty):
    options = "-s", str(repository / "Snakefile"), "--configfile", str(repository / "config/smoke.yaml")
    empty.snakemake(*options, "--", FIGURE)
    results = empty.folder / "results/smoke"
    assert (results / f"figures/{FIGURE}.png").stat().st_size > 10_000
    empty.snakemake(*options, "--report", "report.zip", "--", FIGURE)
    with zipfile.ZipFile(empty.folder / "report.zip") as file:
        text = "".join(file.read(name).decode() for name in file.namelist() if name.endswith((".html", ".js")))
    assert f"{FIGURE}.png" in text
    assert (results / f"figures/{FIGURE}.md").read_text().split(".")[0] in text


def test_entry_of_the_workflow_catalog_agrees_with_the_workflow(repository):
    usage = yaml.safe_load((repository / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage["report"] is True
    assert (repository / "config/README.md").is_file()
    assert (repository / "workflow/Snakefile").is_file()
    image = "rbmbench.sif" in (repository / "workflow/Snakefile").read_text()
    supported = [name for name, is_supported in usage["software-stack-deployment"].items() if is_supported]
    assert supported == ["apptainer"] * image
