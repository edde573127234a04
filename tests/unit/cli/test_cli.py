# SPDX-License-Identifier: BSD-3-Clause
import json
import signal
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from own_data import refused
from planned import planned_here

from rbmbench.base.errors import StoppedError
from rbmbench.cli import main
from rbmbench.cli.making import shown_folders
from rbmbench.cli.progress import shown_progress
from rbmbench.cli.stopping import StopSignals
from rbmbench.io import provenance, results
from rbmbench.jobs import Task
from rbmbench.training import trainer

COMMANDS = (
    "doctor",
    "forecast",
    "config",
    "fit",
    "list",
    "new",
    "train",
    "data",
    "report",
    "redraw",
    "compare",
    "evaluate",
    "keep",
)
NOTEBOOK = ("--template", "t.ipynb", "--notebook", "n.ipynb", "--page", "p.html")
WORKFLOW_COMMANDS = ("job", "render", "claims", "run-times")
HEAVY = ("numpy", "pandas", "numba", "scipy", "pydantic", "tqdm")


def settings(**changes) -> str:
    stage = {"until": 20, "estimator": {"name": "cd", "options": {"k": 1}}, "rate": 0.1}
    values = {"data": {"name": "bars_and_stripes"}, "hidden": 3, "batch": 8, "schedule": [stage], "trials": 2}
    return json.dumps({**values, "evaluate_every": 5, **changes})


@pytest.fixture
def data(tmp_path):
    file = tmp_path / "bars.npz"
    options = ["--options", '{"side": 3}', "--rows", "16", "--visible", "9"]
    assert main(["data", "--name", "bars_and_stripes", *options, "--out", str(file)]) == 0
    return file


@pytest.fixture
def trained(data, tmp_path):
    assert train(data, tmp_path / "run") == 0
    return tmp_path / "run"


def train(data, out, run_settings=None, *more) -> int:
    arguments = ["--settings", run_settings or settings(), "--data", str(data), "--out", str(out)]
    return main(["train", *arguments, "--run-id", "a_run", "--scale", "tiny", *more])


def test_the_meta_of_coupled_chains_has_their_mean_stopping_time(data, trained, tmp_path):
    cd, ucd = {"name": "cd", "options": {"k": 1}}, {"name": "ucd", "options": {"chains": 7}}
    stages = [{"until": until, "estimator": estimator, "rate": 0.1} for until, estimator in ((10, cd), (20, ucd))]
    assert train(data, tmp_path / "coupled", settings(schedule=stages)) == 0
    curve, meta = pd.read_parquet(tmp_path / "coupled" / "curve.parquet"), results.read_meta(tmp_path / "coupled")
    times = curve[curve["metric"] == "stopping_time"]
    assert sorted(times["iteration"].unique()) == [15, 20]
    assert meta["stopping_time"] == pytest.approx(times["value"].mean())
    assert "stopping_time" not in results.read_meta(trained)


def test_help_imports_no_large_library():
    code = "import sys; from rbmbench.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += f"print('loaded', [name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded []"
    assert all(f"\n    {command} " in done.stdout for command in COMMANDS)
    assert not any(f" {command} " in done.stdout for command in WORKFLOW_COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fitt"], "unknown command 'fitt'; nearest: 'fit'; allowed: certify, compare, "),
        (["config", "chek"], "unknown command 'chek'; nearest: 'check'; allowed: check, schema; see 'rbmbench config "),
        (["--log", "x.log", "fit", "own.csv"], "arguments must follow a command, got --log; see 'rbmbench --help'"),
        (["fit", "own.csv", "--learning-rate", "0.1"], "unknown argument 'learning-rate'; nearest: 'rate'; allowed: "),
        (["fit", "own.csv", "--n-hidden=3"], "unknown argument 'n-hidden'; nearest: 'hidden'; allowed: "),
        (["train", "--evaluate-ever", "3"], "unknown argument 'evaluate-ever'; nearest: 'evaluate-every'; allowed: "),
    ],
)
def test_errors_of_unknown_commands_and_arguments_name_the_nearest(arguments, message, capsys):
    assert refused(capsys, main(arguments)).startswith(message)


def test_option_scale_is_the_same_in_all_commands(repository, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(repository)
    printed = []
    for arguments in (["--scale", "smoke"], ["config/config.yaml", "config/smoke.yaml"], ["--scale", "paper"], []):
        assert main(["config", "check", *arguments]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != printed[2] == printed[3]
    monkeypatch.chdir(tmp_path)
    keep = ["keep", "--claims", "x", "--figures", "popcd_fig1", "--out", "out"]
    for command in (["compare", "--out", "out"], keep, ["report"]):
        assert refused(capsys, main([*command, "--scale", "mine"])).startswith("results/mine")
    line = refused(capsys, main(["redraw", "results/mine", "--scale", "mine"]))
    assert line == "folder: must be one folder, or --scale NAME, got results/mine and --scale results/mine"
    assert refused(capsys, main(["redraw"])) == "folder: must be one folder, or --scale NAME, got nothing"


def test_a_run_has_curve_model_and_meta(trained):
    curve, model = results.read_table(trained, "curve.parquet"), results.read_model(trained)
    meta = results.read_meta(trained)
    assert model["W"].shape == (2, 9, 3)
    assert int(model["iteration"]) == 20
    assert sorted(curve["iteration"].unique()) == [0, 5, 10, 15, 20]
    assert meta["settings"]["batch"] == 8
    assert (meta["run"], meta["scale"], meta["iterations"], meta["trials"]) == ("a_run", "tiny", 20, 2)
    assert meta["data"]["rows"]["train"] == 16
    assert meta["backend"] in ("numba", "numpy")
    assert {"training_seconds", "evaluation_seconds", "startup_seconds", "total_seconds"} <= set(meta["wall"])
    assert meta["wall"]["total_seconds"] >= meta["wall"]["training_seconds"] > 0
    assert meta["peak_memory_mb"] > 10
    assert meta["versions"]["numpy"] == np.__version__
    assert meta["started"] <= meta["finished"]
    assert meta["hardware"]["cores"] >= 1


@pytest.fixture
def head(monkeypatch):
    """Revision that git returns, in a list of one entry."""
    revision = ["begun with"]
    answers = {"ls-files": lambda: "__init__.py", "rev-parse": lambda: revision[0], "status": lambda: ""}
    monkeypatch.setattr(provenance, "_git", lambda command, *options: answers[command]())
    provenance.commit.cache_clear()
    yield revision
    provenance.commit.cache_clear()


def test_meta_names_the_commit_at_the_start_of_a_run(data, tmp_path, head, monkeypatch):
    train_run = trainer.run

    def commits_and_trains(*arguments, **options):
        head[0] = "committed meanwhile"
        return train_run(*arguments, **options)

    monkeypatch.setattr(trainer, "run", commits_and_trains)
    assert train(data, tmp_path / "run") == 0
    assert results.read_meta(tmp_path / "run")["commit"] == "begun with"


def test_run_times_are_tabulated(trained, tmp_path):
    assert main(["run-times", "--runs", str(trained), "--out", str(tmp_path / "times.csv")]) == 0
    header, line = (tmp_path / "times.csv").read_text().splitlines()
    row = dict(zip(header.split(","), line.split(","), strict=False))
    assert (row["run"], row["estimator"], row["trials"]) == ("a_run", "cd", "2")


def test_errors_in_settings_are_one_line(data, tmp_path, capsys):
    mistakes = {"{": "--settings: is not JSON", str(tmp_path / "none.json"): "none.json: is missing"}
    for text, words in (mistakes | {settings(batch=17): "got 17"}).items():
        assert words in refused(capsys, train(data, tmp_path / "run", text))
    assert not (tmp_path / "run").exists()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_error_of_a_diverged_run_names_trial_and_iteration(data, tmp_path, capsys):
    stage = {"until": 20, "estimator": {"name": "cd"}, "rate": 1e39}
    line = refused(capsys, train(data, tmp_path / "run", settings(schedule=[stage])))
    assert "a_run: trial 0" in line
    assert "iteration" in line
    assert not (tmp_path / "run").exists()


def test_a_signal_that_a_compiler_drops_stops_a_starting_job(tmp_path):
    def compiling():
        with suppress(KeyboardInterrupt):  # as ctypes in callbacks of LLVM
            signal.raise_signal(signal.SIGTERM)
        raise RuntimeError("no compiled object yet")

    task = Task(None, tmp_path, checkpoint=tmp_path / "run.npz", signals=StopSignals())
    with pytest.raises(StoppedError, match="a_run: stopped while it was starting"), task.stoppable("a_run"):
        compiling()


def test_config_check_prints_one_short_line(repository, monkeypatch, capsys):
    monkeypatch.chdir(repository)
    assert main(["config", "check", "config/config.yaml", "config/smoke.yaml"]) == 0
    printed = planned_here("smoke")
    counts = f"{len(printed.figures)} figures, {len(printed.tables)} tables, {len(printed.jobs)} jobs"
    assert capsys.readouterr().out == f"ok: smoke scale, {counts}\n"


def test_progress_without_a_terminal_is_plain_lines(capsys):
    with shown_progress("a_run", "mean log-likelihood") as progress:
        for done in range(0, 101, 10):
            progress(done, 100, -3.25)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("a_run: 0 of 100, mean log-likelihood -3.25")
    assert lines[-1].startswith("a_run: 100 of 100")
    assert len(lines) == 2


def test_progress_shows_the_time_left(capsys, monkeypatch):
    clock = iter([100.0, 160.0, 220.0])
    monkeypatch.setattr("rbmbench.cli.progress.time.monotonic", lambda: next(clock))
    with shown_progress("a_run") as progress:
        for done in (0, 10, 20):
            progress(done, 100)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["a_run: 0 of 100", "a_run: 10 of 100, 9 min left", "a_run: 20 of 100, 8 min left"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("data", "--name", "bars_and_stripes", "--options", '{"name": "x"}', "--out", "x"), "unknown option 'name'"),
        (("data", "--name", "bars_and_stripes", "--options", '{"cache": "x"}', "--out", "x"), "unknown option 'cache'"),
        (("data", "--name", "mnist", "--cache", "~nosuchuser/x", "--out", "x"), "'~nosuchuser/x': no such user"),
        (("data", "--name", "mnist", "--mirror", "~nosuchuser/x", "--out", "x"), "no such folder"),
        (("forecast", "--cores", "99999999999999999999"), "argument --cores: must "),
        (("data", "--name", "bars_and_stripes", "--out", "x\udcff"), r"argument 'x\udcff': is not UTF-8"),
        (("data", "--name", "bars_and_stripes", "--out", "x\0y"), "without NUL characters"),
        (("data", "--name", "bars_and_stripes", "--out", "é" * 151), "File name too long"),
        (("render", "popcd_fig1", "--set", "png=b", *NOTEBOOK), "render popcd_fig1: --spec must be given, got nothing"),
        (
            ("render", "popcd_fig1", "--spec", '{"popcd_fig1": {}}', "--set", "png=b", *NOTEBOOK),
            "render popcd_fig1: --set must have spec=FILE, got png",
        ),
        (
            ("train", "--data", "x.csv", "--array", "a", "--hidden", "5", "--iterations", "7", "--out", "y"),
            "--array: must",
        ),
        (("data", "--rows", "1.5"), "argument --rows: must be an integer from 1 to 2147483647, got '1.5'"),
        (("data",), "the following arguments are required: --name, --out; see 'rbmbench data --help'"),
    ],
)
def test_errors_of_invalid_arguments_are_one_line(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    line = refused(capsys, main(arguments))
    assert message in line
    assert list(tmp_path.iterdir()) == []


def test_error_of_a_report_without_results_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert refused(capsys, main(["report"])).startswith("report: must ")


def test_shown_folders_are_a_folder_of_results_or_those_below_it(tmp_path):
    for name in ("desktop", "paper", "paper/specs"):  # the spec of the claims has the name of the verdicts
        (tmp_path / name).mkdir()
        (tmp_path / name / "claims.json").touch()
    assert shown_folders(tmp_path / "paper") == [tmp_path / "paper"]
    assert shown_folders(tmp_path) == [tmp_path / "paper", tmp_path / "desktop"]
    assert shown_folders(tmp_path / "none") == [tmp_path / "none"]
    for name in ("few/specs", "few/benchmarks"):  # figures that have not been judged yet
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "few/benchmarks/steps.csv").touch()
    assert shown_folders(tmp_path / "few") == [tmp_path / "few"]
