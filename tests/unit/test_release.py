# SPDX-License-Identifier: BSD-3-Clause
"""Files of a release: metadata, links, licences, the container, the conda recipe and the repository's jobs."""

import re
import runpy
import shlex
import subprocess
import sys
import tarfile
import tomllib

import pytest
import yaml

from rbmbench.cli.parser import parser

VERSION = "7.11.13"


@pytest.fixture(scope="module")
def project(repository) -> dict:
    return tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def jobs(repository) -> dict[str, dict]:
    """The jobs of all workflows of the repository's host, by name."""
    files = sorted((repository / ".github/workflows").glob("*.yml"))
    workflows = {file.stem: yaml.safe_load(file.read_text("utf-8"))["jobs"] for file in files}
    return {f"{file}: {name}": job for file, jobs in workflows.items() for name, job in jobs.items()}


def commands(jobs) -> list[str]:
    return [step["run"] for job in jobs.values() for step in job.get("steps", ()) if "run" in step]


def test_citation_agrees_with_the_metadata_of_the_package(repository, project):
    citation = yaml.safe_load((repository / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"]
    assert citation["repository-code"] == project["urls"]["Repository"]
    assert citation["keywords"] == project["keywords"]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in project["authors"]]


def test_addresses_of_the_project_are_in_its_repository(project):
    repository = project["urls"]["Repository"]
    owner, name = repository.removeprefix("https://github.com/").split("/")
    assert project["urls"]["Documentation"] == f"https://{owner}.github.io/{name}/"
    assert all(repository in project["urls"][key] for key in ("Issues", "Changelog"))


def test_links_of_the_description_are_absolute(repository, project):
    absolute = runpy.run_path(str(repository / "setup.py"))["absolute"]
    readme = (repository / "README.md").read_text("utf-8")
    text = absolute(readme, project["urls"]["Repository"], VERSION)
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(links) == len(re.findall(r"\]\(([^)\s]+)\)", readme)) > 20
    assert [link for link in links if not link.startswith("https://")] == []
    own = re.compile(re.escape(project["urls"]["Repository"]) + rf"/(raw|blob)/v{VERSION}/([^#]+)")
    targets = [match.groups() for link in links if (match := own.match(link))]
    assert {view for view, path in targets if path.endswith(".png")} == {"raw"}
    assert {view for view, path in targets if path.endswith(".md")} == {"blob"}
    assert [path for _, path in targets if not (repository / path).exists()] == []


def test_supported_pythons_are_tested(project, jobs):
    pythons = {text.rpartition(" ")[2] for text in project["classifiers"] if "Python :: 3." in text}
    assert set(jobs["ci: pinned"]["strategy"]["matrix"]["python"]) == pythons
    assert project["requires-python"] == f">={min(pythons, key=lambda version: int(version.split('.')[1]))}"
    systems = {text.rpartition(" ")[2] for text in project["classifiers"] if "Operating System" in text}
    runners = {job.get("runs-on", "").split("-")[0] for name, job in jobs.items() if name.startswith("ci")}
    assert {"Linux": "ubuntu", "MacOS": "macos"}.keys() == systems
    assert runners == {"ubuntu", "macos"}


def test_jobs_run_existing_targets_and_scripts(repository, jobs):
    targets = set(re.findall(r"^([a-z-]+):", (repository / "Makefile").read_text("utf-8"), re.MULTILINE))
    run = commands(jobs)
    assert {name for line in run for name in re.findall(r"\bmake ([a-z-]+)", line)} <= targets
    scripts = {name for line in run for name in re.findall(r"\.ci/[a-z_.]+", line)}
    assert {".ci/try_package", ".ci/check_tag", ".ci/install_slurm.sh"} == scripts
    assert [name for name in scripts if not (repository / name).stat().st_mode & 0o100] == []
    weekly = " ".join(line for name, job in jobs.items() if name.startswith("weekly") for line in commands({name: job}))
    assert all(name in weekly for name in ("make test-slow", "make test-cluster", "docker build"))


def test_a_release_is_published_only_after_its_checks(jobs):
    needs = {name: job.get("needs", []) for name, job in jobs.items() if name.startswith("release")}
    assert needs["release: publish"] == "attach"
    assert set(needs["release: attach"]) == {"ci", "check"}
    permissions = {name: jobs[name]["permissions"] for name in needs if "permissions" in jobs[name]}
    assert permissions == {"release: attach": {"contents": "write"}, "release: publish": {"id-token": "write"}}


def test_sources_name_their_licence(repository, project):
    """The first line, or that below the interpreter, has it; examples, templates and copied sources are left out."""
    suffixes = {".py", ".smk", ".sh", ".cu", ".cuh", ".h", ".js", ".css"}
    names = {"Snakefile", "Makefile", "Dockerfile", "run", "try_package", "check_tag"}
    others = {"uplot.js", "uplot.css"}
    folders = ("src", "tests", "benchmarks", "workflow", "docs")
    files = [path for folder in folders for path in (repository / folder).rglob("*")]
    files += [*repository.glob("*"), *repository.glob(".ci/*")]
    sources = [path for path in files if path.is_file() and (path.suffix in suffixes or path.name in names)]
    copied = {repository / "docs/examples", repository / "src/rbmbench/cli/new/templates"}
    sources = [path for path in sources if path.name not in others and path.parent not in copied]
    assert len(sources) > 400
    line = f"SPDX-License-Identifier: {project['license']}"
    heads = {path: [row.strip("#/* ") for row in path.read_text("utf-8").splitlines()[:2]] for path in sources}
    without = [str(path) for path, head in heads.items() if line not in head[: 1 + head[0].startswith("!")]]
    assert without == []


def write_release_files(folder, version, changelog="[7.11.13] - 2026-01-31"):
    """Write the files that a tag must agree with."""
    (folder / "pyproject.toml").write_text(f'[project]\nversion = "{version}"\n')
    (folder / "CITATION.cff").write_text(f"version: {version}\ndate-released: 2026-01-31\n")
    (folder / "CHANGELOG.md").write_text(
        f"# Changelog\n\n## {changelog}\n\nNew.\n\n## [7.11.12] - 2025-01-31\n\nOld.\n"
    )


@pytest.mark.parametrize(
    ("version", "changelog", "output"),
    [
        (VERSION, f"[{VERSION}] - 2026-01-31", "New.\n"),
        ("7.11.12", f"[{VERSION}] - 2026-01-31", "must be the tag without v"),
        (VERSION, f"[{VERSION}] - unreleased", "no section"),
    ],
)
def test_check_tag_compares_the_tag_with_the_files(repository, tmp_path, version, changelog, output):
    write_release_files(tmp_path, version, changelog)
    command = [sys.executable, str(repository / ".ci/check_tag"), f"v{VERSION}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert output in (done.stdout if output == "New.\n" else done.stderr)
    assert done.returncode == (output != "New.\n")


def test_container_copies_and_runs_existing_files(repository):
    text = (repository / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    steps = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    copied = [word for name, rest in steps if name == "COPY" for word in shlex.split(rest)[:-1]]
    assert copied == ["requirements.lock", "."]
    paths = re.findall(r"/opt/rbmbench/([\w./]+)", text)
    assert {"Snakefile", "config/smoke.yaml"} <= set(paths)
    assert [name for name in paths if not (repository / name).is_file()] == []
    left_out = (repository / ".dockerignore").read_text("utf-8").split()
    assert [name for name in left_out if name in ("src", "workflow", "config", "notebooks", "profiles", ".git")] == []
    assert "rbmbench doctor" in text
    parser().parse_args(["doctor"])


@pytest.mark.slow
def test_sdist_and_wheel_are_complete(repository, tmp_path):
    run = {"check": True, "capture_output": True, "text": True}
    tracked = subprocess.run(["git", "ls-files"], cwd=repository, **run).stdout.split()
    for name in tracked:
        copy = tmp_path / "checkout" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if (repository / name).is_symlink():
            copy.symlink_to((repository / name).readlink())
        elif (repository / name).is_file():
            copy.write_bytes((repository / name).read_bytes())
    build = "import sys; from setuptools import build_meta; getattr(build_meta, f'build_{sys.argv[1]}')(sys.argv[2])"
    subprocess.run([sys.executable, "-c", build, "sdist", str(tmp_path)], cwd=tmp_path / "checkout", **run)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as file:
        file.extractall(tmp_path / "sdist", filter="data")
    (source,) = (tmp_path / "sdist").iterdir()
    expected = {name for name in tracked if name != "profiles"} | {"profiles/default/config.yaml"}
    missing = {name for name in expected if not (source / name).is_file()}
    assert missing == {".gitignore"}

    subprocess.run([sys.executable, "-c", build, "wheel", str(tmp_path)], cwd=source, **run)
    wheel = next(tmp_path.glob("*.whl"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(tmp_path / "site"), str(wheel)], **run)
    package = {name.removeprefix("src/") for name in tracked if name.startswith("src/")}
    assert {name for name in package if not (tmp_path / "site" / name).is_file()} == set()
    code = "import rbmbench; print(rbmbench.__file__, rbmbench.__version__)"
    env = {"PYTHONPATH": str(tmp_path / "site"), "PATH": "/usr/bin:/bin"}
    printed = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, **run).stdout.split()
    version = tomllib.loads((source / "pyproject.toml").read_text())["project"]["version"]
    assert printed == [str(tmp_path / "site/rbmbench/__init__.py"), version]


CONDA_NAMES = {"matplotlib": "matplotlib-base", "seaborn": "seaborn-base", "snakemake": "snakemake-minimal"}
"""Packages of conda-forge that have another name than on Python's package index."""


def test_conda_recipe_has_the_requirements_of_the_package(repository, project):
    recipe = yaml.safe_load((repository / ".github/conda/recipe.yaml").read_text("utf-8"))
    requirements = [*project["dependencies"], *project["optional-dependencies"]["workflow"]]
    pairs = (re.fullmatch(r"([\w-]+)(.*)", requirement).groups() for requirement in requirements)
    expected = {f"{CONDA_NAMES.get(name, name)} {version}".strip() for name, version in pairs}
    assert {line for line in recipe["requirements"]["run"] if not line.startswith("python ")} == expected
    assert recipe["context"]["version"] == project["version"]
    scripts = [f"{name} = {place}" for name, place in project["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts
