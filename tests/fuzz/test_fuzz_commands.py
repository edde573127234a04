"""The commands as a user calls them: whatever they are given ends in exit code 0, or in 2 and one line."""

import contextlib
import io
import json

import numpy as np
import pytest
import yaml
from fuzz_record import read_or_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import edited, mutated_text, npz_files
from reporting_results import DIFFERENCE, falling, figure, rising

from rbmbench import cli
from rbmbench.base.errors import RbmbenchError
from rbmbench.io import results as files
from rbmbench.reporting.page import notebooks
from rbmbench.training import trainer

pytestmark = pytest.mark.usefixtures("bounded_memory")
# A command takes longer than a reader.
few = settings(max_examples=max(settings.default.max_examples // 8, 1))


def called(kind: str, *parts) -> None:
    """Call a command; it must end well, or with one line."""

    def call():
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = cli.main([str(part) for part in parts])
        if code:
            assert code == 2
            *others, line = said.getvalue().splitlines()
            assert line.startswith("rbmbench: error: ")
            # Only the progress of what had begun may come before it.
            assert not any("Traceback" in other or "Error" in other for other in others)
            raise RbmbenchError(line)

    read_or_refused(kind, call)


STAGE = {"until": 3, "estimator": {"name": "cd", "options": {"k": 1}}, "update": {"name": "sgd"}, "rate": 0.1}
RUN = {
    "data": {"name": "bars_and_stripes"},
    "hidden": 2,
    "batch": 2,
    "schedule": [STAGE],
    "trials": 2,
    "evaluate_every": 3,
}
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


@pytest.fixture(scope="module")
def run(folder, data):
    """Return the folder of a run with snapshots, and of its ground truth."""
    out = folder / "a_run-2h-x"
    arguments = ["--settings", json.dumps(RUN), "--data", data, "--out", out, "--run-id", out.name]
    assert cli.main([str(part) for part in ("train", *arguments)]) == 0
    model = files.read_model(out)
    snapshots = {f"snapshot_{name}": np.stack([model[name]] * 2) for name in ("W", "b", "c")}
    files.write_arrays(out / "model.npz", {**model, **snapshots, "snapshot_iterations": np.array([0, 3])})
    truth = ["ground-truth", "--settings", json.dumps(TRUTH), "--data", data, "--model", out, "--out", folder / "truth"]
    assert cli.main([str(part) for part in truth]) == 0
    return out


def arrays_of(path) -> dict:
    with np.load(path) as archive:
        return dict(archive)


def test_train(folder, data, monkeypatch):
    monkeypatch.setattr(trainer.Loop, "run", lambda *_: None)
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
        ("ground-truth", TRUTH, ()),
        ("estimate", ESTIMATE, ("--ground-truths", "truth/ground_truth.npz")),
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
        called(f"{command}, files", command, *common, *more)

    try:
        holds()
    finally:
        files.write_arrays(folder / "truth" / "ground_truth.npz", truth)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return the folder of a scale with a figure, and the figure's spec."""
    scale = tmp_path_factory.mktemp("results") / "tiny"
    spec = figure(scale, {"a": {"curves": {"cd_1": falling(-9.0, -5.0), "pop_cd_1": rising(-4.0)}}})
    names = [f"figures/popcd_fig1.{ending}" for ending in ("png", "pdf", "md")]
    for name in (*names, "data/popcd_fig1.csv", "specs/popcd_fig1.json"):
        (scale / name).parent.mkdir(parents=True, exist_ok=True)
        (scale / name).write_text(json.dumps(spec))
    (scale / "popcd.yaml").write_text(yaml.safe_dump({"claims": [DIFFERENCE]}))
    return scale, spec


def metas_of(spec):
    return [f"{run['folder']}/meta.json" for panel in spec["panels"] for run in panel["runs"]]


def test_reports(results, monkeypatch):
    monkeypatch.setattr(notebooks, "run_notebook", lambda *_: None)
    scale, spec = results
    file, first = scale / "specs" / "popcd_fig1.json", metas_of(spec)[0]
    meta = json.load(open(first))  # noqa: SIM115
    meta["settings"] |= RUN
    keep = ("keep", "--scale", "tiny", "--folder", scale, "--figures", "popcd_fig1", "--out", scale / "kept")
    cli.main([str(part) for part in (*keep, "--claims", scale / "popcd.yaml")])
    verdicts = (scale / "kept" / "claims.csv").read_text()
    given_claims, page = ("--claims", scale / "popcd.yaml"), ("--template", "t", "--notebook", "n", "--page", "p")
    commands = {
        "run-times": ("run-times", "--runs", first.removesuffix("/meta.json"), "--out", scale / "times.csv"),
        "report": ("report", "--folder", scale, "--specs", file, "--out", scale / "x"),
        "keep": (*keep, *given_claims),
        "claims": ("claims", "--scale", "tiny", "--specs", file, *given_claims, "--spec", scale / "c", "--csv",
                   "c", *page),
    }  # fmt: skip
    inputs = st.tuples(edited(spec), st.just(meta), st.just(verdicts))
    inputs |= st.tuples(st.just(spec), edited(meta), st.just(verdicts))
    inputs |= st.tuples(st.just(spec), st.just(meta), mutated_text(verdicts).map(lambda text: text.decode("latin-1")))

    @few
    @given(st.sampled_from(sorted(commands)), inputs)
    def holds(name, parts):
        file.write_text(json.dumps(parts[0]))
        with open(first, "w") as written:
            json.dump(parts[1], written)
        for place in (scale / "claims.csv", scale / "kept" / "claims.csv"):
            place.write_text(parts[2], encoding="latin-1")
        called(f"{name}, files", *commands[name])

    holds()


def with_few_steps(values):
    """Return settings without the largest numbers of chains and steps, which are allowed and take long."""
    return {
        key: 3 if key in ("replications", "longest") and value == 2**31 - 1 else value for key, value in values.items()
    }


@few
@given(edited(COUPLING).map(with_few_steps))
def test_couple(folder, values):
    called("couple --settings", "couple", "--settings", json.dumps(values), "--out", folder / "coupled")


@few
@given(mutated_text(json.dumps({"side": 3})).map(lambda text: text.decode("latin-1")))
def test_data(folder, text):
    called("data --options", "data", "--name", "bars_and_stripes", "--options", text, "--out", folder / "bars.npz")
    called("spec --values", "spec", "--values", text, "--out", folder / "spec.json")


@few
@given(mutated_text("scale: tiny\npapers: [popcd]\noverrides:\n  popcd:\n    defaults: {trials: 3}\n"))
def test_config_check(repository, folder, content):
    (folder / "over.yaml").write_bytes(content)
    called("config check", "config", "check", repository / "config" / "config.yaml", folder / "over.yaml")


@pytest.mark.parametrize("command", ["evaluate", "ground-truth", "sample"])
def test_models_of_other_data_are_refused(folder, run, capsys, command):
    from rbmbench import datasets

    rows = np.eye(5, dtype=np.uint8)
    other = datasets.build("other", "O", train=rows, test=rows, source="", preprocessing="", options={})
    datasets.save(other, folder / "other.npz")
    right = {"evaluate": ANNEALING, "ground-truth": TRUTH, "sample": SAMPLING}[command]
    common = ("--settings", json.dumps(right), "--data", folder / "other.npz", "--model", run, "--out", folder / "out")
    assert cli.main([command, *map(str, common)]) == 2
    assert "found 3 visible units; data set 'other' has 5" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [{"mean": np.zeros((2, 3))}, {"blocks": np.zeros((4, 2, 11), int)}])
def test_ground_truths_of_other_models_are_refused(folder, data, run, tmp_path, capsys, wrong):
    right = arrays_of(folder / "truth" / "ground_truth.npz")
    files.write_arrays(tmp_path / "ground_truth.npz", right | wrong)
    (tmp_path / "meta.json").write_bytes((folder / "truth" / "meta.json").read_bytes())
    common = ("--settings", json.dumps(ESTIMATE), "--data", data, "--model", run, "--out", tmp_path / "out")
    assert cli.main(["estimate", *map(str, common), "--ground-truths", str(tmp_path / "ground_truth.npz")]) == 2
    assert "should be floating point, (..., 2, 11) as the models" in capsys.readouterr().err
