# SPDX-License-Identifier: BSD-3-Clause
"""The commands as a user calls them: whatever they are given ends in exit code 0, or in 2 and one line."""

import contextlib
import io
import json
import os
import shutil
import socket
from pathlib import Path

import numpy as np
import pytest
import yaml
from fuzz_record import THOROUGH, read_or_refused, writes_only_below
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import DEVICE, edited, mutated, mutated_text, npz_files
from PIL import Image
from reporting_results import DIFFERENCE, falling, figure, rising

import rbmbench
from rbmbench import cli
from rbmbench.base.errors import RbmbenchError
from rbmbench.cli import doctor, fitting
from rbmbench.io import results as files
from rbmbench.io.atomic import write_json
from rbmbench.jobs import couple, fingerprints
from rbmbench.kinds import parse_spec
from rbmbench.planning.forecast import records
from rbmbench.reporting import charts
from rbmbench.reporting.page import notebooks
from rbmbench.reporting.text_tables import write_csv
from rbmbench.training import trainer

pytestmark = pytest.mark.usefixtures("bounded_memory")
# A command takes longer than a reader.
few = settings(max_examples=max(settings.default.max_examples // 8, 1))


def called(kind: str, *parts) -> None:
    """Call a command; it must end well, or with one line."""

    def call():
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            try:
                code = cli.main([str(part) for part in parts])
            except SystemExit as end:  # after --help
                code = end.code
        if code and (code, parts[0]) != (1, "doctor"):
            assert code == 2
            *others, line = said.getvalue().splitlines()
            assert line.startswith("rbmbench: error: ")
            # Only the progress of what had begun may come before it.
            assert not any("Traceback" in other or "Error" in other for other in others)
            raise RbmbenchError(line)

    read_or_refused(kind, call)


STAGE = {"until": 3, "estimator": {"name": "cd", "options": {"k": 1}}, "update": {"name": "sgd"}, "rate": 0.1}
RUN = {"data": {"name": "bars_and_stripes"}, "hidden": 2, "batch": 2, "schedule": [STAGE], "trials": 2}
RUN |= {"evaluate_every": 3}
COUPLING = {"visible": 3, "hidden": 2, "width": 0.5, "coupling": "rbm", "replications": 3, "longest": 5}
TRUTH = {"method": "exact"}
ESTIMATE = {"estimator": {"name": "pop_cd", "options": {"k": 1}}, "batch": 2, "estimates": 3}
ANNEALING = {"particles": 3, "temperatures": 2}
SAMPLING = {"samplers": {"gibbs": {"name": "gibbs", "grid": {"k": [1, 2]}}}, "samples": 4, "points": 2, "shown": 2}


@pytest.fixture(scope="module")
def data(folder):
    """Return a data set of rows that the models of `model` are of."""
    from rbmbench import datasets

    rows = np.array([[0, 0, 1], [1, 0, 1], [1, 1, 0], [0, 1, 0]])
    made = datasets.build("made", "M", train=rows, validation=rows, test=rows, source="", preprocessing="", options={})
    datasets.save(made, folder / "data.npz")
    return folder / "data.npz"


def drop_checksums(folder) -> None:
    """Drop the checksums of a meta, which would refuse every changed file before it is looked at."""
    meta = json.loads((folder / "meta.json").read_text())
    write_json(folder / "meta.json", {key: value for key, value in meta.items() if "sha256" not in key})


@pytest.fixture(scope="module")
def run(folder, data):
    """Return the folder of a run with snapshots, and of its ground truth."""
    out = folder / "a_run-2h-x"
    arguments = ["--settings", json.dumps(RUN), "--data", data, "--out", out, "--run-id", out.name]
    assert cli.main([str(part) for part in ("train", *arguments)]) == 0
    model = files.read_model(out)
    snapshots = {f"snapshot_{name}": np.stack([model[name]] * 2) for name in ("W", "b", "c")}
    files.write_arrays(out / "model.npz", {**model, **snapshots, "snapshot_iterations": np.array([0, 3])})
    drop_checksums(out)
    truth = ["job", "ground_truth", "--settings", json.dumps(TRUTH), "--data", data, "--model", out]
    truth += ["--out", folder / "truth"]
    assert cli.main([str(part) for part in truth]) == 0
    drop_checksums(folder / "truth")
    return out


def arrays_of(path) -> dict:
    with np.load(path) as archive:
        return dict(archive)


def at_once(loop, _):
    """Say that the last iteration was made."""
    loop.iteration = loop.settings.iterations


def test_train(folder, data, monkeypatch):
    monkeypatch.setattr(trainer.Loop, "run", at_once)
    monkeypatch.setattr(trainer, "_warm_up", lambda *_: None)

    @few
    @given(edited(RUN).map(json.dumps) | mutated_text(json.dumps(RUN)).map(lambda text: text.decode("latin-1")))
    def holds(values):
        called(
            "train --settings", "train", "--settings", values, "--data", data, "--out", folder / "out", "--run-id", "x"
        )

    holds()


@pytest.mark.parametrize(
    ("command", "right", "more"),
    [
        ("evaluate", ANNEALING, ()),
        ("ground_truth", TRUTH, ()),
        ("estimate", ESTIMATE, ("--needs", "truth")),
        ("sample", SAMPLING, ()),
    ],
)
def test_models_and_metas(folder, data, run, monkeypatch, command, right, more):
    monkeypatch.chdir(folder)
    model, meta = arrays_of(run / "model.npz"), json.loads((run / "meta.json").read_text())
    truth = arrays_of(folder / "truth" / "ground_truth.npz")
    changed = folder / "changed-2h-x"
    changed.mkdir(exist_ok=True)
    (changed / "curve.parquet").write_bytes((run / "curve.parquet").read_bytes())
    whole = npz_files(model), edited(meta), npz_files(truth)
    right_ones = [st.just((run / "model.npz").read_bytes()), st.just(meta)]
    right_ones.append(st.just((folder / "truth" / "ground_truth.npz").read_bytes()))
    # One of the three is wrong, the others are right.
    inputs = st.tuples(whole[0], *right_ones[1:]) | st.tuples(right_ones[0], whole[1], right_ones[2])
    inputs |= st.tuples(*right_ones[:2], whole[2])

    @few
    @given(inputs)
    def holds(parts):
        (changed / "model.npz").write_bytes(parts[0])
        (changed / "meta.json").write_text(json.dumps(parts[1]))
        (folder / "truth" / "ground_truth.npz").write_bytes(parts[2])
        common = ("--settings", json.dumps(right), "--data", data, "--model", changed, "--out", folder / "out")
        called(f"{command}, files", "job", command, *common, *more)

    try:
        holds()
    finally:
        files.write_arrays(folder / "truth" / "ground_truth.npz", truth)


def test_runs_are_loaded_and_told(folder, run):
    """Whatever the files of a run say, it is refused in one line, or shown as text."""
    model, meta = arrays_of(run / "model.npz"), json.loads((run / "meta.json").read_text())
    curve, changed = (run / "curve.parquet").read_bytes(), folder / "loaded"
    (changed / "evaluation").mkdir(parents=True, exist_ok=True)
    (changed / "evaluation" / "curve.parquet").write_bytes(curve)
    (changed / "evaluation" / "meta.json").write_text(json.dumps(meta))
    right = st.just((run / "model.npz").read_bytes()), st.just(curve), st.just(meta)
    inputs = st.tuples(npz_files(model), *right[1:]) | st.tuples(right[0], mutated(curve), right[2])

    @given(inputs | st.tuples(*right[:2], edited(meta)))
    def holds(parts):
        (changed / "model.npz").write_bytes(parts[0])
        (changed / "curve.parquet").write_bytes(parts[1])
        (changed / "meta.json").write_text(json.dumps(parts[2]))

        def load():
            found = rbmbench.load_run(changed)
            assert "\n" not in repr(found)
            assert found._repr_html_().count("<") == 2 + 6 * len(found.summary())
            assert found.image_shape in (None, (1, 3), (3, 1))

        read_or_refused("load_run", load, "loaded")

    holds()


@pytest.fixture
def results(tmp_path_factory):
    """Return the folder of a scale with a figure, and the figure's spec."""
    scale = tmp_path_factory.mktemp("results") / "tiny"
    spec = figure(scale, {"a": {"curves": {"cd_1": falling(-9.0, -5.0), "pop_cd_1": rising(-4.0)}}})
    names = [f"figures/popcd_fig1.{ending}" for ending in ("png", "pdf", "svg", "md")]
    for name in (*names, "data/popcd_fig1.csv", "specs/popcd_fig1.json"):
        (scale / name).parent.mkdir(parents=True, exist_ok=True)
        (scale / name).write_text(json.dumps(spec))
    shown = parse_spec(spec, "spec")
    write_csv(shown.numbers(shown.read()), scale / "data" / "popcd_fig1.csv")
    charts.write(charts.chart_of(shown, shown.read()), scale / "figures" / "popcd_fig1.json")
    Image.new("RGB", (3, 2)).save(scale / "figures" / "popcd_fig1.png")
    (scale / "popcd.yaml").write_text(yaml.safe_dump({"claims": [DIFFERENCE | {"id": REAL_CLAIM}]}))
    return scale, spec


def metas_of(spec):
    return [f"{run['folder']}/meta.json" for panel in spec["panels"] for run in panel["runs"]]


@pytest.mark.slow
def test_reports(results, monkeypatch):
    monkeypatch.setattr(notebooks, "run_notebook", lambda *_: None)
    scale, spec = results
    file, first = scale / "specs" / "popcd_fig1.json", metas_of(spec)[0]
    meta = json.load(open(first))  # noqa: SIM115
    meta["settings"] |= RUN
    keep = ("keep", "--scale", "tiny", "--folder", scale, "--figures", "popcd_fig1", "--out", scale / "kept")
    cli.main([str(part) for part in (*keep, "--claims", scale / "popcd.yaml")])
    verdicts = (scale / "kept" / "claims.json").read_text()
    given_claims, page = ("--claims", scale / "popcd.yaml"), ("--template", "t", "--notebook", "n", "--page", "p")
    commands = {
        "run-times": ("run-times", "--runs", first.removesuffix("/meta.json"), "--out", scale / "times.csv"),
        "report": ("report", scale, "--specs", file, "--out", scale / "x"),
        "keep": (*keep, *given_claims),
        "claims": ("claims", "--scale", "tiny", "--specs", scale / "specs.json", *given_claims, "--spec",
                   scale / "c", "--csv", "c", *page),
    }  # fmt: skip
    inputs = st.tuples(edited(spec), st.just(meta), st.just(verdicts))
    inputs |= st.tuples(st.just(spec), edited(meta), st.just(verdicts))
    inputs |= st.tuples(st.just(spec), st.just(meta), mutated_text(verdicts).map(lambda text: text.decode("latin-1")))

    @few
    @given(st.sampled_from(sorted(commands)), inputs)
    def holds(name, parts):
        file.write_text(json.dumps(parts[0]))
        (scale / "specs.json").write_text(json.dumps({"popcd_fig1": parts[0]}))
        with open(first, "w") as written:
            json.dump(parts[1], written)
        for place in (scale / "claims.json", scale / "kept" / "claims.json"):
            place.write_text(parts[2], encoding="latin-1")
        called(f"{name}, files", *commands[name])

    holds()


# Whole files and command lines, in a folder outside of which nothing may be written. `many` are as many as of a reader.

many = settings(max_examples=settings.default.max_examples if THOROUGH else few.max_examples)
KEYS = ("popcd", "ucd", "cd_bias_bound", "rates_fpcd", "sdcp")


@pytest.fixture(scope="module")
def workplace(folder, repository):
    """Return a folder with a configuration and notebooks, below that of all files of this module."""
    made = folder / "below" / "below" / "workplace"
    for name in ("config", "notebooks"):
        shutil.copytree(repository / name, made / name)
    (made / "empty").mkdir()
    return made


@pytest.fixture
def at_work(folder, workplace, tmp_path_factory, monkeypatch):
    """Go to the workplace; nothing is asked of the network, trained at length, timed, or run in a notebook."""

    def refuse(*_):
        raise OSError("no network")

    def execute(template, content, parameters, log):
        log.write_text(json.dumps(content))

    monkeypatch.chdir(workplace)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    for name, value in (("MIRROR", ""), ("CACHE", str(folder / "cache"))):
        monkeypatch.setenv(f"RBMBENCH_DATA_{name}", value)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    # What the user's cache has not yet would be written outside, too.
    monkeypatch.setattr(fingerprints, "_file", lambda: folder / "fingerprints.json")
    monkeypatch.setattr(trainer.Loop, "run", at_once)
    monkeypatch.setattr(trainer, "_warm_up", lambda *_: None)
    monkeypatch.setattr(notebooks, "_execute", execute)
    monkeypatch.setattr(notebooks, "_page", lambda _: "")
    monkeypatch.setattr(fitting, "write_run_page", lambda *_: None)
    monkeypatch.setattr(doctor, "self_test", lambda: ())
    monkeypatch.setattr(records, "calibration_records", list)
    monkeypatch.setattr(couple, "meeting_steps", lambda _: 7.0)
    with writes_only_below(tmp_path_factory.getbasetemp()):
        yield


def near(values):
    """Bytes of YAML near plain values, changed as values or as text."""
    text = yaml.safe_dump(values, sort_keys=False, width=1000)
    return edited(values).map(lambda found: yaml.safe_dump(found, sort_keys=False).encode()) | mutated_text(text)


def paper_near(repository, part: str):
    """A paper's key and its file of a part of the configuration, mutated."""
    known = {key: yaml.safe_load((repository / "config" / part / f"{key}.yaml").read_text()) for key in KEYS}
    return st.sampled_from(KEYS).flatmap(lambda key: st.tuples(st.just(key), near(known[key])))


def checked_and_forecast(kind: str, key: str) -> None:
    """Check the configuration of one paper, and forecast what it takes."""
    Path("config/tiny.yaml").write_text(f"scale: tiny\npapers: [{key}]\n")
    called(f"{kind}, checked", "config", "check", "config/config.yaml", "config/tiny.yaml")
    called(f"{kind}, forecast", "forecast", "--configfile", "config/tiny.yaml", "--results", "empty")


@pytest.mark.parametrize("part", ["papers", "claims"])
def test_whole_files(repository, at_work, part):
    @many
    @given(paper_near(repository, part))
    def holds(drawn):
        key, content = drawn
        file = Path("config", part, f"{key}.yaml")
        file.write_bytes(content)
        try:
            checked_and_forecast(f"whole {part}", key)
        finally:
            shutil.copyfile(repository / file, file)

    holds()


def test_whole_overlays(repository, at_work):
    overlays = {}
    for scale in ("desktop", "smoke"):
        of_scale = yaml.safe_load((repository / "config" / f"{scale}.yaml").read_text())["overrides"]
        overlays |= {
            (scale, key): {"scale": scale, "papers": [key], "overrides": {key: of_scale[key]}} for key in of_scale
        }

    @many
    @given(st.sampled_from(sorted(overlays)).flatmap(lambda key: near(overlays[key])))
    def holds(content):
        Path("config/over.yaml").write_bytes(content)
        called("whole overlays, checked", "config", "check", "config/config.yaml", "config/over.yaml")
        called("whole overlays, forecast", "forecast", "--configfile", "config/over.yaml", "--results", "empty")

    holds()


def small(values):
    """Plain values in which counts that are allowed and take long are few."""
    if isinstance(values, dict | list):
        pairs = values.items() if isinstance(values, dict) else enumerate(values)
        made = {key: small(part) for key, part in pairs}
        return made if isinstance(values, dict) else list(made.values())
    return 7 if type(values) in (int, float) and 30 < values < 2**31 else values


REAL_CLAIM = "popcd_1.fig1.a.k1"  # the page refuses unknown ones
WORDS = (
    "", " ", "-", "--", "-h", "--help", "@", "@missing", "@config/config.yaml", "~nosuchuser/x", "~", ".", "..", "../x",
    "x" * 300, "é" * 130, "a/" * 300 + "x", "a/" * 2000 + "x", "\udcff", "\0", "a\nb", "\x1b[31m", "{a}", "{", "[]",
    "{}", "null", "NaN", "inf", "-1", "0", "1", "1.5", "9" * 30, "9" * 5000, "1e999", "true", "=", "a=", "=a", "a b=c",
    "mnist", "user_file", "bars_and_stripes", "http://127.0.0.1:9/x", "config", "config/config.yaml", "empty",
    "notebooks", "notebooks/table.ipynb", "out", "auto", "cupy", "numpy", str(DEVICE), f"{DEVICE}/x", "missing/x.json",
    "--settings", "--out", "--threads", "--checkpoint", "--set", "--values", "--options", "--cores", "--json",
)  # fmt: skip


def right_lines(data, run, results) -> list[list[str]]:
    """Return a command line that is right for every command."""
    scale, spec = results
    file, truth = scale / "specs" / "popcd_fig1.json", run.parent / "truth"
    file.write_text(json.dumps(spec))
    (scale / "specs.json").write_text(json.dumps({"popcd_fig1": spec}))
    of_model = ("--data", data, "--model", run, "--out", "out/measured")
    of_notebook = ("--template", "notebooks/table.ipynb", "--notebook", "out/n.ipynb", "--page", "out/n.html")
    of_scale = ("--scale", "tiny", "--claims", scale / "popcd.yaml")
    long = ("--checkpoint", "out/c.npz", "--checkpoint-seconds", "0", "--backend", "auto", "--threads", "1")
    shown = ("--hidden", "2", "--iterations", "3", "--shape", "3x1", "--samples", "5")
    lines = [
        ("data", "--name", "bars_and_stripes", "--options", '{"side": 3}', "--rows", "16", "--out", "out/bars.npz"),
        ("train", "--settings", json.dumps(RUN), "--data", data, "--out", "out/run", "--run-id", "x", *long),
        ("fit", data, *shown, "--out", "out/fit", *long),
        ("score", run, data, "--settings", '{"particles": 3}', "--threads", "1", "--out", "out/scores.csv"),
        ("job", "evaluate", "--settings", json.dumps(ANNEALING), *of_model, *long),
        ("job", "ground_truth", "--settings", json.dumps(TRUTH), *of_model),
        ("job", "estimate", "--settings", json.dumps(ESTIMATE), *of_model, "--needs", truth),
        ("job", "sample", "--settings", json.dumps(SAMPLING), *of_model, "--scale", "tiny"),
        ("job", "couple", "--settings", json.dumps(COUPLING), "--out", "out/coupled"),
        ("render", "--set", "spec=a", "md=b", *of_notebook, "--log", "out/log.ipynb"),
        ("render", "popcd_fig1", "--spec", scale / "specs.json", "--set", "spec=out/a", *of_notebook),
        ("keep", "--folder", scale, "--figures", "popcd_fig1", *of_scale, "--out", scale),
        ("claims", "--specs", scale / "specs.json", *of_scale, "--spec", "out/c", "--csv", "c", *of_notebook),
        ("report", scale, "--specs", file, "--out", "out/report.html"),
        ("run-times", "--runs", run, "--out", "out/times.csv"),
        ("forecast", "--configfile", "config/smoke.yaml", "--results", "empty", "--cores", "2", "--out", "out/f.csv"),
        ("config", "check", "config/config.yaml", "config/smoke.yaml"),
        ("config", "schema", "--out", "out/schemas"),
        ("doctor", "--quick", "--json", "--mirror", "empty", "--cache", "out/cache", "--results", "out"),
    ]
    return [[str(part) for part in line] for line in lines]


@st.composite
def mutated_line(draw, lines):
    """A command line near a right one: words dropped, doubled, swapped, replaced or put in, and settings changed."""
    line = list(draw(st.sampled_from(lines)))
    texts = [place for place, part in enumerate(line) if part.startswith("{")]
    if texts and draw(st.booleans()):
        place = draw(st.sampled_from(texts))
        line[place] = json.dumps(small(draw(edited(json.loads(line[place])))))
    for _ in range(draw(st.integers(0 if texts else 1, 3))):
        kind = draw(st.sampled_from(("drop", "double", "swap", "replace", "replace", "put")))
        place = draw(st.integers(0, max(len(line) - 1, 0)))
        if kind == "put" or not line:
            line.insert(place, draw(st.sampled_from((*WORDS, *draw(st.sampled_from(lines))))))
        elif kind == "drop":
            del line[place]
        elif kind == "double":
            line.insert(place, line[place])
        elif kind == "swap":
            other = draw(st.integers(0, len(line) - 1))
            line[place], line[other] = line[other], line[place]
        else:
            line[place] = draw(st.sampled_from(WORDS))
    return line


def test_whole_command_lines(data, run, results, at_work):
    lines = right_lines(data, run, results)
    commands = {line[0] for line in lines}
    for line in lines:
        assert cli.main(line) == 0

    @many
    @given(mutated_line(lines))
    def holds(line):
        called(f"whole command lines, {line[0] if line and line[0] in commands else 'unknown'}", *line)

    holds()


@pytest.mark.parametrize("command", ["evaluate", "ground_truth", "sample"])
def test_models_of_other_data_are_refused(folder, run, capsys, command):
    from rbmbench import datasets

    rows = np.eye(5, dtype=np.uint8)
    other = datasets.build("other", "O", train=rows, test=rows, source="", preprocessing="", options={})
    datasets.save(other, folder / "other.npz")
    right = {"evaluate": ANNEALING, "ground_truth": TRUTH, "sample": SAMPLING}[command]
    common = ("--settings", json.dumps(right), "--data", folder / "other.npz", "--model", run, "--out", folder / "out")
    assert cli.main(["job", command, *map(str, common)]) == 2
    assert "got 3" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [{"mean": np.zeros((2, 3))}, {"blocks": np.zeros((4, 2, 11), int)}])
def test_ground_truths_of_other_models_are_refused(folder, data, run, tmp_path, capsys, wrong):
    right = arrays_of(folder / "truth" / "ground_truth.npz")
    files.write_arrays(tmp_path / "ground_truth.npz", right | wrong)
    (tmp_path / "meta.json").write_bytes((folder / "truth" / "meta.json").read_bytes())
    common = ("--settings", json.dumps(ESTIMATE), "--data", data, "--model", run, "--out", tmp_path / "out")
    assert cli.main(["job", "estimate", *map(str, common), "--needs", str(tmp_path)]) == 2
    assert "must be floating point, (..., 2, 11) as the models" in capsys.readouterr().err
