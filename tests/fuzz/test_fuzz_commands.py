# SPDX-License-Identifier: BSD-3-Clause
"""Commands with invalid files and arguments: exit code 0, or 2 and a one-line error."""

import contextlib
import io
import json
import os
import shutil
import socket

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import DEVICE, edited, mutated, mutated_text, npz_files
from PIL import Image
from properties import THOROUGH, read_or_refused, writes_only_below
from reporting_results import DIFFERENCE, falling, figure, rising

import rbmbench
from rbmbench import cli, datasets
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
# Commands are slower than readers.
few = settings(max_examples=max(settings.default.max_examples // 8, 1))


def call_command(*parts) -> None:
    """Call a command, which must succeed or end with a one-line error."""

    def call():
        stderr = io.StringIO()
        with contextlib.redirect_stderr(stderr), contextlib.redirect_stdout(io.StringIO()):
            try:
                code = cli.main([str(part) for part in parts])
            except SystemExit as end:  # after --help
                code = end.code
        if code and (code, parts[0]) != (1, "doctor"):
            assert code == 2
            *others, line = stderr.getvalue().splitlines()
            assert line.startswith("rbmbench: error: ")
            # Only progress may be printed before it.
            assert not any("Traceback" in other or "Error" in other for other in others)
            raise RbmbenchError(line)

    read_or_refused(call)


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
    """Return the data set that the models of `run` are trained on."""
    rows = np.array([[0, 0, 1], [1, 0, 1], [1, 1, 0], [0, 1, 0]])
    made = datasets.build("made", "M", train=rows, validation=rows, test=rows, source="", preprocessing="", options={})
    datasets.save(made, folder / "data.npz")
    return folder / "data.npz"


def drop_checksums(folder) -> None:
    """Drop the checksums of a meta, so that changed files are read."""
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
    """Set the iteration of a training loop to the last one."""
    loop.iteration = loop.settings.iterations


def arguments(settings, data, model, out):
    return [*map(str, ("--settings", json.dumps(settings), "--data", data, "--model", model, "--out", out))]


def near_run(folder, run):
    """Return strategies of (model, curve, meta, ground truth), of which one is invalid."""
    model, truth, curve = run / "model.npz", folder / "truth" / "ground_truth.npz", run / "curve.parquet"
    meta = json.loads((run / "meta.json").read_text())
    valid = [st.just(part) for part in (model.read_bytes(), curve.read_bytes(), meta, truth.read_bytes())]
    invalid = npz_files(arrays_of(model)), mutated(curve.read_bytes()), edited(meta), npz_files(arrays_of(truth))
    return [st.tuples(*valid[:place], invalid[place], *valid[place + 1 :]) for place in range(4)]


def write_run(changed, parts) -> None:
    changed.mkdir(exist_ok=True)
    for name, part in zip(("model.npz", "curve.parquet"), parts[:2], strict=True):
        (changed / name).write_bytes(part)
    (changed / "meta.json").write_text(json.dumps(parts[2]))


MEASURED = {"evaluate": ANNEALING, "ground_truth": TRUTH, "sample": SAMPLING}


@pytest.mark.parametrize("command", [*MEASURED, "estimate"])
def test_jobs_on_invalid_models_end_with_a_one_line_error(folder, data, run, monkeypatch, command):
    monkeypatch.chdir(folder)
    changed, needed = folder / "changed-2h-x", folder / "needed"
    needed.mkdir(exist_ok=True)
    (needed / "meta.json").write_bytes((folder / "truth" / "meta.json").read_bytes())
    model, _, meta, truth = near_run(folder, run)

    @few
    @given(model | meta | truth)
    def holds(parts):
        write_run(changed, parts)
        (needed / "ground_truth.npz").write_bytes(parts[3])
        common = arguments(MEASURED.get(command, ESTIMATE), data, changed, folder / "out")
        call_command("job", command, *common, *(("--needs", needed) if command == "estimate" else ()))

    holds()


def test_invalid_runs_are_loaded_as_text_or_raise(folder, run):
    changed = folder / "loaded"
    (changed / "evaluation").mkdir(parents=True)
    for name in ("curve.parquet", "meta.json"):
        shutil.copy(run / name, changed / "evaluation")
    model, curve, meta, _ = near_run(folder, run)

    @given(model | curve | meta)
    def holds(parts):
        write_run(changed, parts)

        def load():
            loaded = rbmbench.load_run(changed)
            assert "\n" not in repr(loaded)
            assert loaded._repr_html_().count("<") == 2 + 6 * len(loaded.summary())
            assert loaded.image_shape in (None, (1, 3), (3, 1))

        read_or_refused(load, "loaded")

    holds()


@pytest.fixture
def results(tmp_path_factory):
    """Return the folder of a scale with a figure, and the spec of the figure."""
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


@pytest.mark.slow
def test_reports_of_invalid_results_end_with_a_one_line_error(results, monkeypatch):
    monkeypatch.setattr(notebooks, "run_notebook", lambda *_: None)
    scale, spec = results
    file, first = scale / "specs" / "popcd_fig1.json", f"{spec['panels'][0]['runs'][0]['folder']}/meta.json"
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
        call_command(*commands[name])

    holds()


# Whole files and command lines, in a folder outside of which nothing may be written; `many` as for readers.

many = settings(max_examples=settings.default.max_examples if THOROUGH else few.max_examples)


@pytest.fixture(scope="module")
def workplace(folder, repository):
    """Return a folder with a configuration and notebooks, below the folder of this module."""
    made = folder / "below" / "below" / "workplace"
    for name in ("config", "notebooks"):
        shutil.copytree(repository / name, made / name)
    (made / "empty").mkdir()
    return made


@pytest.fixture
def at_work(folder, workplace, tmp_path_factory, monkeypatch):
    """Change to the workplace, without network, training, timing and notebooks."""

    def refuse(*_):
        raise OSError("no network")

    def execute(template, content, parameters, log):
        log.write_text(json.dumps(content))

    monkeypatch.chdir(workplace)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    for name, value in (("MIRROR", ""), ("CACHE", str(folder / "cache"))):
        monkeypatch.setenv(f"RBMBENCH_DATA_{name}", value)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    # The user's cache is outside the folder.
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


def small(values):
    """Return plain values with large valid counts replaced by small ones."""
    if isinstance(values, dict | list):
        pairs = values.items() if isinstance(values, dict) else enumerate(values)
        made = {key: small(part) for key, part in pairs}
        return made if isinstance(values, dict) else list(made.values())
    return 7 if type(values) in (int, float) and 30 < values < 2**31 else values


REAL_CLAIM = "popcd_1.fig1.a.k1"  # unknown claims raise
WORDS = (
    "", " ", "-", "--", "-h", "--help", "@", "@missing", "@config/config.yaml", "~nosuchuser/x", "~", ".", "..", "../x",
    "x" * 300, "é" * 130, "a/" * 300 + "x", "a/" * 2000 + "x", "\udcff", "\0", "a\nb", "\x1b[31m", "{a}", "{", "[]",
    "{}", "null", "NaN", "inf", "-1", "0", "1", "1.5", "9" * 30, "9" * 5000, "1e999", "true", "=", "a=", "=a", "a b=c",
    "mnist", "user_file", "bars_and_stripes", "http://127.0.0.1:9/x", "config", "config/config.yaml", "empty",
    "notebooks", "notebooks/table.ipynb", "out", "auto", "cupy", "numpy", str(DEVICE), f"{DEVICE}/x", "missing/x.json",
    "--settings", "--out", "--threads", "--checkpoint", "--set", "--values", "--options", "--cores", "--json",
)  # fmt: skip


def valid_lines(data, run, results) -> list[list[str]]:
    """Return valid command lines of all commands."""
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
    """A command line near a valid one: words dropped, doubled, swapped, replaced or inserted, settings changed."""
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


def test_invalid_command_lines_end_with_a_one_line_error(data, run, results, at_work):
    lines = valid_lines(data, run, results)
    for line in lines:
        assert cli.main(line) == 0

    @many
    @given(mutated_line(lines))
    def holds(line):
        call_command(*line)

    holds()


@pytest.mark.parametrize("command", MEASURED)
def test_models_of_other_data_raise(folder, run, capsys, command):
    rows = np.eye(5, dtype=np.uint8)
    other = datasets.build("other", "O", train=rows, test=rows, source="", preprocessing="", options={})
    datasets.save(other, folder / "other.npz")
    assert cli.main(["job", command, *arguments(MEASURED[command], folder / "other.npz", run, folder / "out")]) == 2
    assert "got 3" in capsys.readouterr().err


@pytest.mark.parametrize("changes", [{"mean": np.zeros((2, 3))}, {"blocks": np.zeros((4, 2, 11), int)}])
def test_ground_truths_of_other_models_raise(folder, data, run, tmp_path, capsys, changes):
    arrays = arrays_of(folder / "truth" / "ground_truth.npz")
    files.write_arrays(tmp_path / "ground_truth.npz", arrays | changes)
    (tmp_path / "meta.json").write_bytes((folder / "truth" / "meta.json").read_bytes())
    common = arguments(ESTIMATE, data, run, tmp_path / "out")
    assert cli.main(["job", "estimate", *common, "--needs", str(tmp_path)]) == 2
    assert "must be floating point, (..., 2, 11) as the models" in capsys.readouterr().err
