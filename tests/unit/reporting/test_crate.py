# SPDX-License-Identifier: BSD-3-Clause
"""A folder of results as an RO-Crate: what the profiles demand, and that it says what the files say."""

import hashlib
import json
from email.message import Message
from importlib import metadata
from urllib.parse import unquote

import pytest
from reporting_results import falling, figure, rising

from rbmbench.base.errors import ResultsError, SettingsError
from rbmbench.cli import main
from rbmbench.reporting.crate import CRATE, write_crate

REPOSITORY = "https://example.org/rbmbench"
CAPTION = "What is drawn."


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    """The package says this of itself, whatever is installed."""
    found = Message()
    for name, value in {
        "Version": "7.11.13",
        "Author": "Some authors",
        "License-Expression": "BSD-3-Clause",
        "Project-URL": f"Repository, {REPOSITORY}",
    }.items():
        found[name] = value
    monkeypatch.setattr(metadata, "metadata", {"rbmbench": found}.__getitem__)


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A folder with a figure of two runs, and the workflow beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workflow/rules").mkdir(parents=True)
    (tmp_path / "workflow/Snakefile").write_text("# All.\n")
    (tmp_path / "workflow/rules/jobs.smk").write_text("# One rule.\n")
    root = tmp_path / "results" / "tiny"
    spec = figure(root, {"a": {"curves": {"cd_1": falling(-9.0, -5.0), "pop_cd_1": rising(-4.0)}}})
    for name, text in {
        "specs/popcd_fig1.json": json.dumps(spec),
        "figures/popcd_fig1.png": "picture",
        "figures/popcd_fig1.md": f"{CAPTION}\n",
        "data/popcd_fig1.csv": "numbers",
        "datasets/popcd_fig1.npz": "rows",
        "logs/train/x.log": "talk",
        "checkpoints/x.npz": "state",
        "figures/.popcd_fig1.png.x": "a part",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def graph(root) -> dict[str, dict]:
    entities = json.loads((root / CRATE).read_text())["@graph"]
    found = {entity["@id"]: entity for entity in entities}
    assert len(found) == len(entities), "an @id stands twice"
    return found


def references(value) -> set[str]:
    """All that an entity refers to."""
    if isinstance(value, dict) and set(value) == {"@id"}:
        return {value["@id"]}
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set().union(*map(references, values))


def test_what_the_profiles_demand(results):
    write_crate(results, author="A Reader")
    found = graph(results)
    assert found[CRATE]["about"] == {"@id": "./"}
    assert {"@id": "https://w3id.org/ro/crate/1.1"} in found[CRATE]["conformsTo"]
    root, main_entity = found["./"], found["workflow/Snakefile"]
    assert {"name", "description", "datePublished", "license"} <= set(root)
    profiles = references(root["conformsTo"])
    assert {"https://w3id.org/ro/wfrun/process/0.5", "https://w3id.org/ro/wfrun/workflow/0.5"} <= profiles
    assert {found[profile]["@type"] for profile in profiles} == {"CreativeWork"}
    assert root["mainEntity"] == {"@id": "workflow/Snakefile"}
    assert set(main_entity["@type"]) == {"File", "SoftwareSourceCode", "ComputationalWorkflow"}
    assert found[main_entity["programmingLanguage"]["@id"]]["@type"] == "ComputerLanguage"
    actions = [entity for entity in found.values() if entity["@type"] == "CreateAction"]
    assert len(actions) == 3
    assert {"@id": "workflow/Snakefile"} in [action["instrument"] for action in actions]
    assert all(references(action["instrument"]) <= set(found) for action in actions)
    assert references(root["mentions"]) == {action["@id"] for action in actions}
    known = set(found) | {"https://w3id.org/ro/crate/1.1"}
    outside = {name for entity in found.values() for name in references(list(entity.values()))} - known
    assert all(name.startswith("https://") for name in outside), outside
    assert references(root["hasPart"]) == {name for name, entity in found.items() if "File" in entity["@type"]}


def test_every_file_of_results_is_listed_with_its_checksum(results):
    write_crate(results)
    files = {unquote(name): entity for name, entity in graph(results).items() if "File" in entity["@type"]}
    runs = {path.relative_to(results).as_posix() for path in results.glob("runs/*/*")}
    assert len(runs) >= 4
    others = {"specs/popcd_fig1.json", "figures/popcd_fig1.png", "figures/popcd_fig1.md", "data/popcd_fig1.csv"}
    workflow = {"workflow/Snakefile", "workflow/rules/jobs.smk", "datasets/popcd_fig1.npz"}
    assert set(files) == runs | others | workflow
    for name, entity in files.items():
        assert entity["sha256"] == hashlib.sha256((results / name).read_bytes()).hexdigest()
        assert entity["contentSize"] == str((results / name).stat().st_size)
    picture = files["figures/popcd_fig1.png"]
    assert picture["name"].startswith("Figure 1 of popcd")
    assert (picture["description"], picture["isBasedOn"]) == (CAPTION, {"@id": "data/popcd_fig1.csv"})


def test_times_commits_and_authors(results):
    folder = sorted(results.glob("runs/*"))[0]
    meta = json.loads((folder / "meta.json").read_text())
    meta |= {"started": "2001-02-03T05:07:11+00:00", "finished": "2001-02-03T05:07:13+00:00", "commit": "abc"}
    (folder / "meta.json").write_text(json.dumps(meta))
    write_crate(results, licence="CC-BY-4.0")
    found = graph(results)
    action = found[f"#runs/{folder.name}"]
    assert (action["startTime"], action["endTime"]) == (meta["started"], meta["finished"])
    assert action["description"] == "commit abc"
    assert found["#workflow-run"]["startTime"] == meta["started"]
    assert "abc" in found["workflow/Snakefile"]["version"]
    assert found["./"]["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    assert found["workflow/Snakefile"]["license"] == {"@id": "https://spdx.org/licenses/BSD-3-Clause"}
    assert found["#rbmbench-authors"]["name"] == "Some authors"
    assert "author" not in found["./"]


def test_a_second_description_is_the_same(results):
    assert main(["crate", str(results)]) == 0
    first = (results / CRATE).read_bytes()
    write_crate(results)
    assert (results / CRATE).read_bytes() == first


def test_what_is_missing_is_told(results, monkeypatch, capsys):
    with pytest.raises(SettingsError, match="none/Snakefile: is missing; --workflow"):
        write_crate(results, "none/Snakefile")
    with pytest.raises(ResultsError, match=r"found no meta\.json of a finished job"):
        write_crate(results / "figures")
    monkeypatch.setattr(metadata, "metadata", {}.__getitem__)
    with pytest.raises(SettingsError, match="is not installed with its metadata"):
        write_crate(results)
    assert main(["crate", "nowhere"]) != 0
    assert "nowhere: found no meta.json" in capsys.readouterr().err
