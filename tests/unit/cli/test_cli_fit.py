# SPDX-License-Identifier: BSD-3-Clause
"""`rbmbench fit`: outputs, resuming and error messages."""

from html.parser import HTMLParser

import matplotlib.image
import numpy as np
import pytest
from core_helpers import binary_data
from own_data import refused

import rbmbench
from rbmbench.cli import fitting, main
from rbmbench.io import results
from rbmbench.training import trainer

DATA = binary_data(23, 6)
FAST = "--no-certificate"
RUN = {"curve.parquet", "model.npz", "meta.json"}
MADE = RUN | {"curve.png", "filters.png", "samples.png", "index.html"}


class Page(HTMLParser):
    """The tags of a page, their addresses, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.addresses, self.text = set(), [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href")]

    def handle_data(self, data):
        self.text += data


def fit(data, out, *arguments) -> int:
    return main(["fit", str(data), "--out", str(out), *map(str, ("--hidden", 5, "--iterations", 11, *arguments))])


def test_fit_writes_models_pictures_and_a_page(own, tmp_path, capsys):
    options = "--estimator", "pop_cd", "--k", 2, "--rate", 0.5, "--batch", 3, "--seed", 13, "--update", "weight_decay"
    assert fit(own, tmp_path / "run", *options, "--trials", 2, "--shape", "2x3") == 0
    assert {path.name for path in (tmp_path / "run").iterdir()} == MADE
    more = {"options": {"k": 2}, "rate": 0.5, "seed": 13, "trials": 2, "update": "weight_decay"}
    expected = rbmbench.train(DATA, hidden=5, batch=3, iterations=11, estimator="pop_cd", **more)
    loaded = rbmbench.load_run(tmp_path / "run")
    np.testing.assert_array_equal(loaded.rbm.W, expected.rbm.W)
    assert all(matplotlib.image.imread(tmp_path / "run" / name).std() > 0 for name in MADE if name.endswith("png"))
    page = Page((tmp_path / "run" / "index.html").read_text())
    assert "script" not in page.tags
    assert len(page.addresses) == 3
    assert all(address.startswith("data:image/png;base64,") for address in page.addresses)
    assert all(text in page.text for text in loaded.summary().values())
    printed = capsys.readouterr().out
    assert all(f"{title}: {text}\n" in printed for title, text in loaded.summary().items())


def test_names_are_escaped_on_the_page(tmp_path):
    name = "<script>alert('$x')&"
    np.save(tmp_path / f"{name}.npy", DATA)
    assert fit(tmp_path / f"{name}.npy", tmp_path / f"{name}-run", "--batch", 23) == 0
    page = Page((tmp_path / f"{name}-run" / "index.html").read_text())
    assert "script" not in page.tags
    assert f"RBM of {name}" in page.text
    assert repr(f"{tmp_path}/{name}-run") in page.text


def test_models_too_large_to_enumerate_are_annealed(tmp_path, monkeypatch):
    monkeypatch.setattr(fitting, "ANNEALING", fitting.ANNEALING.model_copy(update={"particles": 7, "temperatures": 13}))
    np.save(tmp_path / "own.npy", binary_data(31, 29))
    assert fit(tmp_path / "own.npy", tmp_path / "run", "--hidden", 27, "--checkpoint", tmp_path / "c.npz", FAST) == 0
    assert {path.name for path in (tmp_path / "run").iterdir()} == MADE | {"evaluation"}
    loaded = rbmbench.load_run(tmp_path / "run")
    likelihood = loaded.curve.query("metric == 'log_likelihood'")
    assert likelihood["iteration"].tolist() == loaded.snapshots["snapshot_iterations"].tolist()
    assert "annealed" in (tmp_path / "run" / "index.html").read_text()
    assert not list(tmp_path.glob("c*.npz"))
    # The former evaluation is not used for a smaller model in the same folder.
    assert fit(tmp_path / "own.npy", tmp_path / "run", FAST) == 0
    assert "annealed" not in (tmp_path / "run" / "index.html").read_text()
    assert "log_partition_error" not in set(rbmbench.load_run(tmp_path / "run").curve["metric"])


def test_an_interrupted_fit_resumes_from_its_checkpoint(own, tmp_path, monkeypatch, capsys):
    options = "--iterations", 41, "--checkpoint", tmp_path / "c.npz", "--checkpoint-seconds", 0, "--batch", 3, FAST
    assert fit(own, tmp_path / "whole", *options) == 0

    class Stop:
        calls = 0

        def __call__(self):
            Stop.calls += 1
            return 15 if Stop.calls > 5 else None

    run = trainer.run
    with monkeypatch.context() as stopped:
        stopped.setattr(trainer, "run", lambda *parts, **keywords: run(*parts, **keywords | {"stopping": Stop()}))
        stopped.setattr(trainer.Loop, "_train_until", _by_steps(trainer.Loop._train_until))
        assert fit(own, tmp_path / "run", *options) == 128 + 15
    assert capsys.readouterr().err.splitlines()[-1].startswith("rbmbench: run: stopped at iteration ")
    assert (tmp_path / "c.npz").is_file()
    assert not (tmp_path / "run" / "model.npz").exists()
    assert fit(own, tmp_path / "run", *options) == 0
    assert not (tmp_path / "c.npz").exists()
    for name in ("model.npz", "curve.parquet", "samples.png"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_fit_interrupted_after_training_is_not_trained_again(tmp_path, monkeypatch):
    np.save(tmp_path / "own.npy", binary_data(31, 29))
    monkeypatch.setattr(fitting, "ANNEALING", fitting.ANNEALING.model_copy(update={"particles": 7, "temperatures": 13}))
    options = "--hidden", 27, "--checkpoint", tmp_path / "c.npz", FAST
    with monkeypatch.context() as stopped:
        stopped.setattr(fitting, "is_enumerable", _interrupt)
        assert fit(tmp_path / "own.npy", tmp_path / "run", *options) == 130
    model = (tmp_path / "run" / "model.npz").read_bytes()
    with monkeypatch.context() as trained:
        trained.setattr(trainer, "run", lambda *_, **__: pytest.fail("trained again"))
        assert fit(tmp_path / "own.npy", tmp_path / "run", *options) == 0
    assert (tmp_path / "run" / "model.npz").read_bytes() == model
    assert fit(tmp_path / "own.npy", tmp_path / "run", *options, "--seed", 2) == 0
    assert (tmp_path / "run" / "model.npz").read_bytes() != model


def _interrupt(*_):
    raise KeyboardInterrupt


def _by_steps(train_until):
    """Pause after each iteration."""
    return lambda loop, pause: train_until(loop, min(pause, loop.iteration + 1))


def test_defaults_are_5000_iterations_and_20_evaluations(own, tmp_path):
    assert main(["fit", str(own), "--hidden", "2", "--out", str(tmp_path / "run")]) == 0
    settings = results.read_meta(tmp_path / "run")["settings"]
    assert (settings["schedule"][0]["until"], settings["evaluate_every"], settings["batch"]) == (5000, 250, 23)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--shape", "2x4"], "shape: must be rows and columns whose product is 6, got (2, 4)"),
        (["--shape", "2*3"], "argument --shape: must be ROWSxCOLUMNS, such as 28x28, got '2*3'"),
        (["--samples", 0], "argument --samples: must be an integer from 1 to 2500, got '0'"),
        (["--update", "sg"], "unknown update rule 'sg'; nearest: "),
        (["--settings", "{}"], "unknown argument 'settings'; nearest: 'iterations'; allowed: "),
    ],
)
def test_errors_of_invalid_options_are_one_line(own, tmp_path, capsys, arguments, line):
    assert refused(capsys, fit(own, tmp_path / "run", *arguments)).startswith(line)
    assert not (tmp_path / "run").exists()
