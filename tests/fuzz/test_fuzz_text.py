# SPDX-License-Identifier: BSD-3-Clause
"""Invalid texts and values: configuration and overlays, claims, settings, specs, and metas of results."""

import inspect
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from mutations import FRAGMENTS, SCALARS, VALUES, edited, mutated_text
from properties import holds_for_files, read_or_refused
from reporting_results import DIFFERENCE, falling, figure, make_run, rising

from rbmbench import datasets, estimators, samplers, updates
from rbmbench.base.errors import RbmbenchError, SettingsError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import (
    AnnealingSettings,
    CouplingSettings,
    EstimateSettings,
    GroundTruthSettings,
    RunSettings,
    SamplingSettings,
)
from rbmbench.config import loading
from rbmbench.io import results
from rbmbench.io.atomic import write_json
from rbmbench.io.guard import UnreadableError
from rbmbench.io.text import plain_json, plain_yaml
from rbmbench.measurements import meeting_times
from rbmbench.planning import plan, specs
from rbmbench.planning.forecast.jobs import jobs_of
from rbmbench.reporting.claims import files, judge

CONFIG = Path(__file__).parents[2] / "config"
FILES = sorted(CONFIG.rglob("*.yaml"))
TEXTS = [file.read_text() for file in FILES]
PLAIN = (str, int, float, bool, type(None))


def is_plain(values) -> bool:
    """Return whether values can be written as JSON."""
    if isinstance(values, dict):
        return all(isinstance(key, str) and is_plain(part) for key, part in values.items())
    return all(map(is_plain, values)) if isinstance(values, list) else isinstance(values, PLAIN)


short_texts = st.sampled_from(TEXTS).map(lambda text: "".join(text.splitlines(keepends=True)[:25]))
fragments = st.lists(st.sampled_from(FRAGMENTS), max_size=6).map(
    lambda parts: "".join(parts).encode("utf-8", "surrogatepass")
)


@given(short_texts.flatmap(mutated_text) | fragments | st.binary(max_size=30))
def test_invalid_yaml_is_read_as_plain_values_or_raises(content):
    document = read_or_refused(lambda: plain_yaml(content), errors=UnreadableError)
    assert is_plain(document)
    json.dumps(document)


JSON = json.dumps({"data": {"name": "mnist"}, "hidden": 16, "rate": 0.5, "a": [1, None, True, "é"]}, indent=1)


@given(mutated_text(JSON) | fragments)
def test_invalid_json_is_read_as_plain_values_or_raises(content):
    assert is_plain(read_or_refused(lambda: plain_json(content), errors=UnreadableError))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_yaml_files_are_read_as_by_pyyaml(file):
    assert plain_yaml(file.read_bytes()) == yaml.safe_load(file.read_text())


# The configuration, changed as values, which is fast enough for thousands of examples.


def content_of(file):
    return yaml.load(file.read_text(), yaml.CSafeLoader)


KNOWN = {str(file): content_of(file) for file in FILES}


def with_files(monkeypatch, changed: dict) -> None:
    """Replace files of the configuration by ``changed``, by name."""
    monkeypatch.setattr(loading, "read_yaml", lambda path: (KNOWN | changed)[str(path)])


def counted(files):
    """Return the jobs of a configuration with their work, as for a forecast."""
    return jobs_of(plan.plan(loading.load(files)))


MAIN = {"scale": "tiny", "papers": ["popcd"], "data": {"mirror": None, "cache": None}, "backend": "auto"}
PAPERS = {file.stem: content_of(file) for file in (CONFIG / "papers").glob("*.yaml")}
SMOKE = content_of(CONFIG / "smoke.yaml")["overrides"]
CLAIMS = {file.stem: content_of(file) for file in (CONFIG / "claims").glob("*.yaml")}
FIRST, OVERLAY = str(CONFIG / "config.yaml"), str(CONFIG / "tiny.yaml")


@given(
    main=edited(MAIN),
    overlay=st.sampled_from(sorted(PAPERS)).flatmap(
        lambda key: edited({"papers": [key], "overrides": {key: SMOKE.get(key, {})}})
    ),
)
def test_invalid_config_and_overlays_are_planned_or_raise(main, overlay):
    with pytest.MonkeyPatch.context() as patch:
        with_files(patch, {FIRST: main, OVERLAY: overlay})
        read_or_refused(lambda: counted([FIRST, OVERLAY]))


@given(st.sampled_from(sorted(PAPERS)).flatmap(lambda key: st.tuples(st.just(key), edited(PAPERS[key]))))
def test_invalid_papers_are_planned_or_raise(drawn):
    key, values = drawn
    with pytest.MonkeyPatch.context() as patch:
        with_files(patch, {FIRST: MAIN | {"papers": [key]}, str(CONFIG / "papers" / f"{key}.yaml"): values})
        read_or_refused(lambda: counted([FIRST]))


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Return the spec of a figure with its runs."""
    curves = {"cd_1": falling(-9.0, -5.0), "pop_cd_1": rising(-4.0)}
    return figure(tmp_path_factory.mktemp("results"), {"a": {"curves": curves}})


def file_of_claims(key: str):
    """Return a strategy of files of claims with a few entries."""
    names = {
        "curve": "fig1.a.pop_cd_1", "against": "fig1.a.cd_1", "curves": ["fig1.a.cd_1"], "share": 0.5, "after": 0,
        "factor": 2, "limit": 1.5, "iteration": 100, "quantile": 0.9, "tolerance": 0.1, "within": 3,
        "metric": "log_likelihood",
    }  # fmt: skip
    about = {key: DIFFERENCE[key] for key in ("where", "text", "above")}
    entries = [
        {"id": kind, "kind": kind, **about}
        | {name: names.get(name, "fig1.a.cd_1") for name in list(inspect.signature(check).parameters)[1:]}
        for kind, check in judge.MEASUREMENTS.items()
    ]
    chosen = st.lists(st.sampled_from([*entries, *CLAIMS[key]["claims"]]), min_size=1, max_size=3)
    return chosen.flatmap(lambda claims: edited({**CLAIMS[key], "claims": claims}))


@given(values=st.sampled_from(sorted(CLAIMS)).flatmap(file_of_claims))
def test_invalid_claims_are_evaluated_or_raise(shown, values):
    spec = {"scale": "tiny", "outputs": [shown], "claims": {"popcd": values}}
    read_or_refused(lambda: judge.evaluate(parse(judge.ClaimsSpec, spec, "claims")))


@pytest.fixture(scope="module")
def papers():
    return loading.load([CONFIG / "config.yaml"]).published


@given(st.sampled_from(sorted(CLAIMS)).flatmap(lambda key: st.tuples(st.just(key), file_of_claims(key))))
def test_invalid_claims_are_checked_with_their_papers_or_raise(papers, drawn):
    key, values = drawn
    read_or_refused(lambda: files.check_file(values, (papers[key],), "claims"))


# Settings of commands.

STAGE = {"until": 20, "estimator": {"name": "pop_cd", "options": {"k": 1}}, "update": {"name": "sgd"}, "rate": 0.1}
RUN = {
    "data": {"name": "mnist", "options": {"threshold": 3}}, "hidden": 3, "batch": 8, "trials": 2, "schedule": [STAGE],
    "initial": {"kind": "normal", "width": 0.1}, "proxy": {"chains": 2}, "evaluate_at": [1, 2], "bias_bound": {"k": 1},
}  # fmt: skip
SETTINGS = [
    (RunSettings, RUN),
    (GroundTruthSettings, {"method": "exact", "chains": 3}),
    (EstimateSettings, {"estimator": {"name": "cd", "options": {"k": 2}}, "batch": 3}),
    (AnnealingSettings, {"particles": 3, "temperatures": 5, "base": "uniform", "bracket": {"steps": 3}, "seed": 1}),
    (CouplingSettings, {"visible": 3, "hidden": 2, "width": 0.5, "coupling": "rbm", "longest": 5}),
    (SamplingSettings, {"samplers": {"gibbs": {"name": "gibbs", "options": {}, "grid": {"k": [1, 2]}}}, "samples": 7}),
]


@given(st.sampled_from(SETTINGS).flatmap(lambda pair: st.tuples(st.just(pair[0]), edited(pair[1]) | VALUES)))
def test_invalid_settings_are_parsed_or_raise(drawn):
    model, values = drawn
    settings = read_or_refused(lambda: parse(model, values, "--settings"), "--settings: ")
    assert settings is None or parse(model, plain_json(settings.canonical()), "again") == settings


REGISTRIES = (datasets.REGISTRY, estimators.REGISTRY, samplers.REGISTRY, updates.REGISTRY)


def options_of(registry, name: str):
    """Return a strategy of options of a part, with arbitrary values."""
    known = [key for key in inspect.signature(registry.get(name)).parameters if not key.startswith("_")]
    keys = st.sampled_from((*known, "new"))
    return st.tuples(st.just(registry), st.just(name), st.dictionaries(keys, SCALARS | VALUES, max_size=3))


@given(
    st.sampled_from(REGISTRIES).flatmap(
        lambda parts: st.sampled_from(parts.names()).flatmap(lambda name: options_of(parts, name))
    )
)
def test_parts_with_invalid_options_are_created_or_raise(drawn):
    registry, name, options = drawn
    read_or_refused(lambda: registry.create(name, options), "option")


# Files written by commands.


@pytest.fixture(scope="module")
def meta(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "run"
    make_run(folder, [[-9.0, -5.0]])
    return json.loads((folder / "meta.json").read_text())


def test_invalid_metas_are_read_or_raise(folder, meta):
    meta["settings"] |= RUN

    def entries(path):
        metadata = results.read_meta(path.parent)
        return metadata["settings"]["first_trial"], metadata["data"]["rows"]

    holds_for_files(folder / "meta.json", edited(meta), entries)


def test_invalid_specs_are_read_or_raise(folder, shown):
    @given(edited(shown))
    def holds(values):
        write_json(folder / "spec.json", values)
        for read in (specs.read_spec, specs.read_specs):
            read_or_refused(lambda: read(folder / "spec.json"), "spec.json")  # noqa: B023

    holds()


def test_duplicate_keys_raise():
    with pytest.raises(UnreadableError, match="'a' twice"):
        plain_yaml("a: 1\nb: 2\na: 3")
    with pytest.raises(UnreadableError, match="'a' twice"):
        plain_json('{"b": {"a": 1, "a": 2}}')
    assert plain_yaml("a: &x {b: 1}\nc: {<<: *x, b: 2}") == {"a": {"b": 1}, "c": {"b": 2}}


@pytest.mark.parametrize(
    "value", ["2001-09-09", "!!set {a}", "!!binary aGVsbG8=", "!!omap [a: 1]", "{1: 2}", "{on: 2}"]
)
def test_yaml_values_without_json_form_raise(value):
    with pytest.raises(UnreadableError, match=r"must (have|hold)"):
        plain_yaml(f"a: {value}")


def test_yaml_numbers_without_a_point_are_numbers():
    assert plain_yaml("[1e-2, -2.5E3, 1e, 1e-2a, '1e-2', e2]") == [0.01, -2500.0, "1e", "1e-2a", "1e-2", "e2"]


def test_yaml_runs_no_code(tmp_path):
    marker = tmp_path / "marker"
    with pytest.raises(UnreadableError, match="constructor"):
        plain_yaml(f"!!python/object/apply:os.mkdir ['{marker}']")
    assert not marker.exists()


def test_errors_are_one_line_of_bounded_length():
    assert str(RbmbenchError("a\nb\x1b[31m\u2028c")) == "a b [31m c"
    assert len(str(RbmbenchError("x" * 10**6))) < 2100
    with pytest.raises(UnreadableError, match="found undefined alias") as caught:
        plain_yaml("*" + "a" * 10**5)
    assert len(str(caught.value)) < 600


def test_too_many_combinations_raise_before_they_are_made():
    grid = {f"a{number}": [0] * 100 for number in range(9)}
    sampling = {"samplers": {"gibbs": {"name": "gibbs", "grid": grid}}}
    with pytest.raises(SettingsError, match=r"grid: must have at most 10000 combinations, got 1000000000000000000"):
        parse(SamplingSettings, sampling, "--settings")
    entry = {"id": "a", "each": [[{"x": 1}] * 100] * 9}
    with pytest.raises(
        SettingsError, match=r"'a': .*each: must have at most 10000 combinations, got 1000000000000000000"
    ):
        next(files.expanded(entry))


def test_placeholders_with_format_specifications_are_not_replaced():
    entry = {"id": "a{x}", "text": "{x:>1000000000} {x.__class__}", "each": [[{"x": 1}]]}
    assert next(files.expanded(entry)) == {"id": "a1", "text": "{x:>1000000000} {x.__class__}"}


@pytest.mark.parametrize(
    ("size", "message"), [({"hidden": 2**31}, "hidden: must "), ({"hidden": 2**30, "visible": 2**30}, "at most 8 GB")]
)
def test_models_too_large_for_the_memory_raise(size, message):
    values = {"visible": 3, "hidden": 2, "coupling": "rbm"} | size
    with pytest.raises(SettingsError, match=message):
        meeting_times.coupled_stopping_times(parse(CouplingSettings, values, "--settings"))


@pytest.mark.parametrize(
    ("change", "key"), [({"wall": 3}, "wall"), ({"data": {"rows": None}}, "data.rows"), ({"trials": 0}, "trials")]
)
def test_inconsistent_metas_raise(folder, meta, change, key):
    write_json(folder / "meta.json", meta | change)
    with pytest.raises(RbmbenchError, match=rf"meta\.json: {key}.*: must"):
        results.read_meta(folder)


def test_error_of_a_missing_key_of_a_meta_names_it(folder):
    write_json(folder / "meta.json", {"settings": {"schedule": [{"until": 3}]}})
    metadata = results.read_meta(folder)
    with pytest.raises(
        RbmbenchError, match=r"meta\.json: key 'settings\.schedule\.0\.estimator' is missing, got until"
    ):
        metadata["settings"]["schedule"][0]["estimator"]


@pytest.mark.parametrize("each", [None, 3, [{"x": 1}], [[]], [[1]]])
def test_invalid_lists_of_each_raise(each):
    with pytest.raises(SettingsError, match="claim 'a': each"):
        next(files.expanded({"id": "a", "each": each}))
