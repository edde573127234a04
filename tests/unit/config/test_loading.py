# SPDX-License-Identifier: BSD-3-Clause
import json
import re
import runpy
from functools import cache

import pytest
import yaml

from rbmbench.base.errors import SettingsError
from rbmbench.config.loading import load, merged, read_yaml
from rbmbench.config.paper import schemas
from rbmbench.planning.plan import plan
from rbmbench.reporting.claims import files


def overlay(config, **overrides) -> list[str]:
    """Write an overlay for popcd, and return the files to load."""
    values = {"scale": "tiny", "overrides": {"popcd": overrides}}
    (config / "tiny.yaml").write_text(yaml.safe_dump(values))
    return ["config/config.yaml", "config/tiny.yaml"]


def error_of(files) -> str:
    with pytest.raises(SettingsError) as caught:
        load(files)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_overrides_are_merged_deeply(config):
    panel = {"iterations": 7}
    configuration = load(overlay(config, figures={"fig1": {"panels": {"a": panel}}}))
    panels = configuration.papers[0].figures["fig1"].panels
    assert (panels["a"].iterations, panels["a"].rate, panels["b"].iterations) == (7, 0.1, 50000)
    assert configuration.published["popcd"].figures["fig1"].panels["a"].iterations == 50000


def test_merging_another_name_drops_the_options_of_the_first():
    first = {"data": {"name": "mnist", "options": {"binarise": "bernoulli"}, "batch": 200}}
    digits = {"data": {"name": "digits", "options": {"test": 297}}}
    assert merged(first, digits) == {"data": {"name": "digits", "options": {"test": 297}, "batch": 200}}
    again = {"data": {"name": "mnist", "options": {"seed": 3}}}
    assert merged(first, again)["data"]["options"] == {"binarise": "bernoulli", "seed": 3}


PANEL_A, PANEL_2A = (("figures", name, "panels", "a") for name in ("fig1", "fig2"))
PANEL = {"data": "bars_and_stripes", "hidden": 5, "rate": 0.1, "iterations": 20}
PCD, CD = {"estimator": "pcd"}, {"estimator": "cd", "options": {"k": 1}}
COUPLED = {"kind": "coupling_times", "title": "t", "visible": 7, "hidden": 5, "width": 0.1}
COUPLED |= {"replications": 3, "longest": 11}
LONG = "x" * 65
TOO_MANY = "at most 24 units in both layers together", "got 16 visible and 9 hidden units"
MANY = {f"p{number}": PANEL | {"hidden": number + 1} for number in range(157)}
SDCP = {"update": {"name": "sdcp"}, "options": {"chains": 7}}


def timed(row=None, **values) -> dict:
    """Return overrides with a table of step times."""
    row = {"data": "bars_and_stripes", "hidden": 16, "rate": 0.1, "algorithms": ["pop_cd_1", "cd_1"]} | (row or {})
    table = {"kind": "step_times", "title": "t", "rows": {"bars": row}, "against": {"pop_cd_1": "cd_1"}}
    return nested("tables", "table9", table | values)


def nested(*keys_and_value) -> dict:
    *keys, value = keys_and_value
    for key in reversed(keys):
        value = {key: value}
    return value


def run_times(panel: str, reference: str) -> dict:
    return nested("tables", "table9", {"kind": "run_times", "title": "t", "panel": panel, "reference": reference})


def with_schedule(*stages, **more) -> dict:
    """Return overrides in which Figure 1 shows an algorithm of several stages."""
    algorithm = {"label": "PCD, then CD", "schedule": list(stages)} | more
    return {"algorithms": {"staged": algorithm}, "figures": {"fig1": {"algorithms": ["staged"]}}}


STAGED = with_schedule(PCD | {"until": 7}, CD)
EXPECTED = nested("algorithms", "own", {"label": "expected", "estimator": "expected_cd"})


@pytest.mark.parametrize(
    ("overrides", "fragments"),
    [
        (nested(*PANEL_A, "rate", -0.5), ["figures.fig1.panels.a.rate", "-0.5", "greater than 0"]),
        (nested(*PANEL_A, "iterations", 0), ["figures.fig1.panels.a.iterations", "or equal to 1, got 0"]),
        (nested(*PANEL_A, "trials", 0), ["figures.fig1.panels.a.trials", "or equal to 1, got 0"]),
        (nested("defaults", "trials", 0), ["defaults.trials", "or equal to 1, got 0"]),
        (nested(*PANEL_A, "itterations", 5), ["figures.fig1.panels.a.itterations", "nearest: 'iterations'"]),
        (nested(*PANEL_A, "data", "mnits"), ["figures.fig1.panels.a.data", "'mnits'", "nearest: 'mnist'"]),
        (nested("figures", "fig1", "algorithms", ["cd_2"]), ["figures.fig1.algorithms", "'cd_2'", "nearest: 'cd_1"]),
        (nested("tables", "table1", "estimators", ["popcd_1"]), ["tables.table1.estimators", "nearest: 'pop_cd_1"]),
        (nested("tables", "table1", "trained_with", "cd"), ["tables.table1.trained_with", "'cd'", "allowed: "]),
        (nested("algorithms", "cd_1", "estimator", "popcd"), ["algorithms.cd_1", "'popcd'", "nearest: 'pop_cd"]),
        (nested("algorithms", "cd_1", "options", "k", 0), ["algorithms.cd_1", "'k'", "got 0", ">= 1"]),
        (nested("algorithms", "cd_1", "options", "kk", 1), ["algorithms.cd_1", "'kk'", "nearest: 'k'"]),
        (nested("algorithms", "cd_1", "update", "name", "sgdd"), ["algorithms.cd_1", "'sgdd'", "nearest: 'sgd'"]),
        (nested("algorithms", "cd_1", SDCP), ["algorithms.cd_1.update", "'sdcp': the estimator must have one chain"]),
        (nested("data", "mnist", "name", "mnits"), ["data.mnist", "data set 'mnits'", "nearest: 'mnist'"]),
        (nested("data", "mnist", "options", "treshold", 1), ["data.mnist", "'treshold'", "nearest: 'threshold'"]),
        (nested("data", "mnist", "batch", 60001), ["data.mnist.batch", "60001", "60000"]),
        (nested(*PANEL_A, "batch", 33), ["figures.fig1.panels.a.batch", "got 33", "32"]),
        (nested(*PANEL_A, "mark", 1), ["figures.fig1.panels.a.mark", "got 1", "less than 1"]),
        (nested(*PANEL_2A, "hidden", 500), ["fig2.panels.a", "500 hidden", "evaluate_every: must", "at least 184"]),
        (nested(*PANEL_2A, "hidden", 500) | nested("defaults", "precision", "float64"), ["panels.a", "at least 367"]),
        (nested(*PANEL_A, "evaluate_at_products", [3]), ["fig1.panels.a", "evaluate_at_products: needs products"]),
        (nested(*PANEL_2A, {"hidden": 500, "evaluate_at": [*range(1, 9)]}), ["fig2.panels.a", "at least 260"]),
        (nested(*PANEL_2A, {"hidden": 500, "evaluate_at": [*range(1, 99)]}), ["fig2.panels.a", "evaluate_at: must be"]),
        (nested("tables", "table1", "estimates", 1), ["tables.table1.estimates", "got 1"]),
        (nested("tables", "table1", "ground_truth", "chains", 1), ["tables.table1.ground_truth.chains", "got 1"]),
        (with_schedule(PCD, CD), ["algorithms.staged", "'until' must ascend", "got [None, None]"]),
        (with_schedule(PCD | {"until": 7}, CD | {"until": 7}), ["algorithms.staged", "got [7, 7]"]),
        (with_schedule(PCD | {"until": 7}, CD, estimator="cd"), ["algorithms.staged", "has both"]),
        (with_schedule(PCD | {"until": 7}, CD, options={"k": 3}), ["algorithms.staged", "belong into its stages"]),
        (with_schedule({"estimator": "ppcd"}), ["algorithms.staged.schedule.0", "'ppcd'", "nearest: 'pcd'"]),
        (with_schedule(PCD | {"options": {"kk": 1}}), ["algorithms.staged.schedule.0", "'kk'", "nearest: 'k'"]),
        (with_schedule(PCD | {"rate": 0}), ["algorithms.staged.schedule.0.rate", "got 0", "greater than 0"]),
        (with_schedule(PCD | {"til": 3}), ["algorithms.staged.schedule.0.til", "nearest: 'until'"]),
        (nested("algorithms", "none", "label", "None"), ["algorithms.none", "has neither"]),
        (STAGED | nested("tables", "table1", "estimators", ["staged"]), ["table1.estimators", "'staged'", "2 stages"]),
        (nested(*PANEL_A, "metric", []), ["fig1.panels.a.metric", "at least 1"]),
        (nested(*PANEL_A, "metric", ["a", "b", "c", "d"]), ["fig1.panels.a.metric", "at most 3"]),
        (nested(*PANEL_A, "metric", "loglik"), ["fig1.panels.a.metric", "'loglik'", "nearest: 'log_likelihood'"]),
        (nested(*PANEL_A, "metric", ["log_likelihood", "rejections"]), ["fig1.panels.a", "have different units"]),
        (nested(*PANEL_A, {"metric": "rejections", "references": ["maximum"]}), ["fig1.panels.a", "shows rejections"]),
        (nested(*PANEL_A, "axis", "logarithmic"), ["fig1.panels.a.axis", "'logarithmic'", "'linear' or 'log'"]),
        (nested(*PANEL_A, "references", ["entropy"]), ["fig1.panels.a.references.0", "'entropy'", "'maximum'"]),
        (nested(*PANEL_A, "algorithms", ["cd_2"]), ["fig1.panels.a.algorithms", "'cd_2'", "nearest: 'cd_1"]),
        (nested("figures", "fig1", "band", "quantiles", [0.9, 0.1]), ["fig1.band", "got [0.9, 0.1]"]),
        (nested("figures", "fig1", "band", {"median": True, "sample_paths": 1}), ["fig1.band", "have one of them"]),
        (nested(*PANEL_A, "iteration_axis", "lin"), ["fig1.panels.a.iteration_axis", "'lin'", "'linear' or 'log'"]),
        (nested(*PANEL_A, "evaluate_at", [5, 4]), ["fig1.panels.a.evaluate_at", "must ascend"]),
        (nested(*PANEL_A, "proxy", {"rows": 33}), ["fig1.panels.a.proxy.rows", "at most as many rows", "32, got 33"]),
        (nested(*PANEL_A, {"bias_bound": {}, "hidden": 9}), ["fig1.panels.a.hidden", *TOO_MANY]),
        (EXPECTED | nested(*PANEL_A, {"algorithms": ["own"], "hidden": 9}), ["fig1.panels.a.hidden", *TOO_MANY]),
        (
            {"figures": {"fig7": {"title": "a"}}},
            ["figures.fig7: must have a kind, or the key of an entry that has one"],
        ),
        (nested("figures", "fig1", "kind", "coupling_time"), ["figures.fig1", "'coupling_times'"]),
        (nested("figures", "fig9", COUPLED | {"longst": 5}), ["fig9.", "longst", "nearest: 'longest'"]),
        (run_times("fig1.z", "cd_1"), ["tables.table9.panel", "'fig1.z'", "allowed: fig1.a, fig1.b"]),
        (run_times("fig1.a", "cd_2"), ["tables.table9.reference", "'cd_2'", "nearest: 'cd_1"]),
        (timed({"data": "barz"}), ["table9.rows.bars.data", "'barz'"]),
        (timed({"batch": 33}), ["table9.rows.bars.batch", "must be at most the 32 rows", "got 33"]),
        (timed({"algorithms": []}), ["table9.rows.bars.algorithms", "at least 1"]),
        (timed({"algorithms": ["cd_2"]}), ["table9.rows.bars.algorithms", "'cd_2'", "nearest: 'cd_1"]),
        (timed(rows={}), ["table9.rows", "at least 1"]),
        (timed(rounds=0), ["table9.rounds", "got 0"]),
        (timed(against={"pcd_1": "cd_1"}), ["table9.against", "'pcd_1'", "allowed: cd_1, pop_cd_1"]),
        (STAGED | timed({"algorithms": ["staged"]}), ["table9.rows.bars.algorithms", "'staged'", "2 stages"]),
        ({"algorithms": {LONG: {"label": "a", "estimator": "cd"}}}, [f"algorithms.{LONG}", "at most 64 characters"]),
        ({"figures": {f"fig{LONG}": {"title": "a"}}}, [f"figures.fig{LONG}", "at most 64 characters"]),
        ({"figures": {"fig": {"title": "a", "kind": "learning_curves"}}}, ["figures.fig", "pattern"]),
        (nested("figures", "fig1", "panels", MANY), ["figures.fig1.panels", "at most 150 items"]),
        (nested("figures", "fig1_tables", COUPLED), ["_fig and _table", "'fig1_tables'"]),
        (
            nested("tables", "table1", "rows", "letters_16", "samples", 52153),
            ["table1.rows.letters_16.samples: must be at most the 52152 rows of the data set, got 52153"],
        ),
        (
            nested("tables", "table1", "rows", "letters_16", "data", "mnits"),
            ["rows.letters_16.data", "nearest: 'mnist'"],
        ),
        (nested("figures", "fig9", COUPLED | {"couplings": ["rbm", "rbm"]}), ["couplings: must differ", "rbm"]),
        (nested("figures", "fig1", "algorithms", "fpcd_1"), ["algorithms: must be a list, got 'fpcd_1'"]),
    ],
)
def test_errors_name_file_key_value_and_allowed_values(config, overrides, fragments):
    message = error_of(overlay(config, **overrides))
    assert message.startswith("config/tiny.yaml: overrides.popcd: ")
    for fragment in fragments:
        assert fragment in message


@pytest.mark.parametrize(
    ("stages", "allowed"),
    [([PCD | {"until": 50_000}, CD], "more than 50000"), ([PCD | {"until": 7}, CD | {"until": 11}], "11")],
)
def test_iterations_of_a_panel_must_match_its_schedules(config, stages, allowed):
    message = error_of(overlay(config, **with_schedule(*stages)))
    # The panel's iterations are in the paper's file, the stages in the overlay.
    expected = f"config/papers/popcd.yaml: figures.fig1.panels.a.iterations: must be {allowed}, got 50000; the schedule"
    assert message.startswith(expected)


def test_errors_in_a_paper_name_its_file(config):
    file = config / "papers" / "popcd.yaml"
    file.write_text(file.read_text().replace("rate: 0.01, iterations: 50000", "rate: 0, iterations: 50000"))
    assert error_of(["config/config.yaml"]).startswith("config/papers/popcd.yaml: figures.fig1.panels.b.rate: must ")


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ("scale: tiny\npapers: [popcd, popdc]", ["config/tiny.yaml: papers: ", "'popdc'", "nearest: 'popcd'"]),
        ("scale: tiny\noverrides: {popdc: {}}", ["config/tiny.yaml: overrides.popdc: ", "nearest: 'popcd'"]),
        ("scale: Not/a name", ["config/tiny.yaml: scale: must "]),
        ("scale: tiny\ndata: {miror: x}", ["config/tiny.yaml: data.miror: ", "nearest: 'mirror'"]),
        ("scale: [tiny", ["config/tiny.yaml: is not YAML"]),
        ("tiny", ["config/tiny.yaml: must be a mapping of keys, got a str"]),
    ],
)
def test_errors_in_the_main_files(config, text, fragments):
    (config / "tiny.yaml").write_text(text)
    message = error_of(["config/config.yaml", "config/tiny.yaml"])
    for fragment in fragments:
        assert fragment in message


def test_error_names_a_missing_file(config):
    assert error_of(["config/config.yaml", "config/none.yaml"]).startswith("config/none.yaml: cannot be read")


@cache
def all_schemas() -> dict[str, dict]:
    return schemas() | {"claims.schema.json": files.schema()}


def test_stored_schemas_are_up_to_date(repository):
    assert {file.name for file in (repository / "config" / "schemas").iterdir()} == all_schemas().keys()
    for name, schema in all_schemas().items():
        stored = json.loads((repository / "config" / "schemas" / name).read_text(encoding="utf-8"))
        assert stored == schema, f"config/schemas/{name} is stale: run `make schema`"


def test_schemas_are_valid_json_schemas():
    jsonschema = pytest.importorskip("jsonschema")
    for schema in all_schemas().values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_every_file_is_valid_by_the_schema_in_its_first_line(repository):
    jsonschema = pytest.importorskip("jsonschema")
    validators = {
        file.name: jsonschema.Draft202012Validator(json.loads(file.read_text(encoding="utf-8")))
        for file in (repository / "config" / "schemas").iterdir()
    }
    for file in sorted((repository / "config").rglob("*.yaml")):
        first = file.read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("# yaml-language-server: $schema="), file
        validators[first.rpartition("/")[2]].validate(read_yaml(file))


CLAIM = {"id": "c", "where": "Figure 1", "text": "so", "kind": "decline", "curve": "fig1.a.cd_1", "above": "{above}"}


@pytest.mark.parametrize(
    ("change", "accepted"),
    [
        ({}, True),
        ({"kind": "order_of_magnitude", "quantity": "{quantity}", "entry": "table1.r.cd_1"}, False),
        ({"kind": "declin"}, False),
        ({"curv": "fig1.a.cd_1"}, False),
        ({"against": "fig1.a.cd_1"}, False),
        ({"above": "high"}, False),
        ({"needs": {"trails": 3}}, False),
        ({"each": [[]]}, False),
    ],
)
def test_schema_of_claims_allows_only_the_keys_of_each_kind(change, accepted):
    jsonschema = pytest.importorskip("jsonschema")
    assert jsonschema.Draft202012Validator(files.schema()).is_valid({"claims": [CLAIM | change]}) == accepted


def test_every_key_is_documented(repository):
    keys = runpy.run_path(str(repository / "docs" / "keys.py"))
    page = (repository / "config" / "KEYS.md").read_text(encoding="utf-8")
    assert page == keys["reference"](repository / "config" / "schemas"), "config/KEYS.md is stale: run `make schema`"
    assert not re.search(r"^\| `\w+` \|  \|", page, re.MULTILINE)


def test_plan_raises_on_settings_too_long_for_a_command_line(config):
    files = overlay(config, figures={"fig1": {"panels": {"a": {"evaluate_at": [1]}}}})
    text = (config / "tiny.yaml").read_text()
    (config / "tiny.yaml").write_text(re.sub(r"evaluate_at:\s*- 1", f"evaluate_at: {list(range(1, 29_989))}", text))
    configuration = load(files)
    with pytest.raises(
        SettingsError, match=r"bars_and_stripes-\S+: settings: must have at most \d+ bytes as JSON, got \d+"
    ):
        plan(configuration)


def test_plan_raises_on_invalid_published_numbers(config):
    file = config / "claims" / "ucd.yaml"
    values = yaml.safe_load(file.read_text())
    values["published_tables"]["table1"]["entries"][0]["algorithm"] = None
    file.write_text(yaml.safe_dump(values))
    configuration = load(["config/config.yaml"])
    with pytest.raises(SettingsError, match=r"^config/claims/ucd\.yaml: published_tables\.table1: .*, got None"):
        plan(configuration)


@pytest.mark.parametrize("kind", ["figures", "tables"])
@pytest.mark.parametrize("value", [True, 7, "fig1", ["fig1"]])
def test_sections_that_are_no_mappings_raise_one_line(config, kind, value):
    assert error_of(overlay(config, **{kind: value})).startswith(f"config/tiny.yaml: overrides.popcd: {kind}: must ")


@pytest.mark.parametrize("key", ["arena", "popcd"])
def test_an_overlay_selects_papers_of_another_overlay(repository, tmp_path, key):
    config = repository / "config"
    (tmp_path / "mine.yaml").write_text(f"papers: [{key}]\nscale: mine\n")
    alone = load([config / "config.yaml", config / "desktop.yaml"])
    combined = load([config / "config.yaml", config / "desktop.yaml", tmp_path / "mine.yaml"])
    assert combined.main.papers == (key,)
    assert combined.papers == tuple(paper for paper in alone.papers if paper.key == key)


@pytest.mark.parametrize("key", ["report", "my_tables"])
def test_a_key_that_breaks_names_of_targets_is_an_error(config, key):
    text = (config / "papers/popcd.yaml").read_text().replace("key: popcd", f"key: {key}")
    (config / f"papers/{key}.yaml").write_text(text)
    (config / "tiny.yaml").write_text(f"scale: tiny\npapers: [{key}]")
    assert error_of(["config/config.yaml", "config/tiny.yaml"]).startswith(
        f"config/papers/{key}.yaml: key: names of papers"
    )


@pytest.mark.parametrize(
    ("products", "allowed"), [(1, "must be at least 5, an iteration of 'cd_1', got 1"), (1e300, "must be less than")]
)
def test_a_budget_of_too_few_or_too_many_products_is_an_error(config, products, allowed):
    contests = {"bars_and_stripes": {"products": products}}
    values = {"scale": "tiny", "overrides": {"arena": {"figures": {"fig1": {"contests": contests}}}}}
    (config / "tiny.yaml").write_text(yaml.safe_dump(values))
    message = error_of(["config/config.yaml", "config/tiny.yaml"])
    assert f"figures.fig1.contests.bars_and_stripes.products: {allowed}" in message


def test_a_contest_of_models_too_large_for_an_estimator_is_an_error(config):
    algorithms = {"expected_cd": {"label": "expected CD", "estimator": "expected_cd"}}
    arena = {"algorithms": algorithms, "figures": {"fig1": {"contests": {"bars_and_stripes": {"hidden": 1031}}}}}
    (config / "tiny.yaml").write_text(yaml.safe_dump({"scale": "tiny", "overrides": {"arena": arena}}))
    message = error_of(["config/config.yaml", "config/tiny.yaml"])
    assert "figures.fig1.contests.bars_and_stripes.hidden: " in message
    assert "at most 24 units" in message


def test_curves_of_one_label_and_models_too_large_for_an_estimator_are_errors(config):
    message = error_of(overlay(config, **nested("algorithms", "cd_10", "label", "CD-1")))
    assert message.endswith("figures.fig1.panels.a: labels of its curves must differ, got 'CD-1' 2 times")
    exact = nested("algorithms", "exact", {"label": "exact", "estimator": "exact"})
    message = error_of(overlay(config, **exact | nested("tables", "table1", "estimators", ["exact"])))
    assert "table1.rows.letters_100.hidden: " in message
    assert "at most 25" in message
