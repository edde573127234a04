# SPDX-License-Identifier: BSD-3-Clause
"""Interrupted measurements resume to the same bytes, and only with the same inputs."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from core_helpers import binary_data, random_rbm

from rbmbench import datasets, samplers
from rbmbench.base.errors import CheckpointError, StoppedError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import CouplingSettings, EstimateSettings, GroundTruthSettings, SamplingSettings
from rbmbench.io import results
from rbmbench.measurements import gradient_bias, meeting_times, sampling
from rbmbench.model.rbm import RBM
from rbmbench.training.checkpoint import Checkpointer

M, N, TRIALS = 7, 5, 3
PARTS = {"train": binary_data(29, M, 1), "validation": binary_data(17, M, 2), "test": binary_data(23, M, 3)}
MODELS = random_rbm(M, N, (TRIALS,), seed=4, dtype=np.float32)
EXACT = gradient_bias.ground_truth(MODELS, PARTS["train"], GroundTruthSettings(method="exact"))


@dataclass(frozen=True)
class Inputs:
    """Inputs of measurements."""

    rbm: RBM = MODELS
    parts: tuple = tuple(PARTS.items())
    truth: gradient_bias.GroundTruth = EXACT
    seed: int = 3

    @property
    def data(self) -> datasets.Dataset:
        return datasets.build("made", "Made", **dict(self.parts), source="test", preprocessing="none", options={})


def truth(inputs: Inputs, checkpointer: Checkpointer | None, method: str) -> list:
    settings = GroundTruthSettings(method=method, chains=3, burn_in=13, samples=41, seed=inputs.seed)
    ground_truth = gradient_bias.ground_truth(inputs.rbm, inputs.data.train, settings, checkpointer=checkpointer)
    return [ground_truth.mean, ground_truth.blocks]


def estimate(inputs: Inputs, checkpointer: Checkpointer | None, name: str) -> list:
    values = {"estimator": {"name": name}, "batch": 4, "estimates": 31, "seed": inputs.seed}
    settings, ground_truths = parse(EstimateSettings, values, "test"), {"exact": inputs.truth}
    table = gradient_bias.measure(inputs.rbm, inputs.data.train, settings, ground_truths, checkpointer=checkpointer)
    timed = table["quantity"] == "seconds_per_estimate"
    assert (table["value"][timed] > 0).all()
    return [table[~timed]]


def couple(inputs: Inputs, checkpointer: Checkpointer | None, coupling: str) -> list:
    settings = CouplingSettings(visible=13, hidden=7, coupling=coupling, replications=503, seed=inputs.seed)
    return [meeting_times.coupled_stopping_times(settings, checkpointer)]


def sample(inputs: Inputs, checkpointer: Checkpointer | None, name: str) -> list:
    grid = {"fast_rate": [0.1, 0.3]} if "fast_rate" in samplers.REGISTRY.get(name).of_replica else {}
    values = {"samplers": {"one": {"name": name, "grid": grid}, "two": {"name": "gibbs"}}, "samples": 23, "points": 4}
    settings = parse(SamplingSettings, values | {"shown": 11, "seed": inputs.seed}, "test")
    samples = sampling.sampled(inputs.rbm, inputs.data, settings, checkpointer=checkpointer)
    return [samples.likelihoods, samples.shown]


def content(outputs: list, folder) -> list[str]:
    """Return the checksums of files with these tables and arrays."""
    files = []
    for number, part in enumerate(outputs):
        file = folder / str(number)
        if hasattr(part, "columns"):
            results.write_table(file, part)
        else:
            results.write_arrays(file, part if isinstance(part, dict) else {"a": np.asarray(part)})
        files.append(hashlib.sha256(file.read_bytes()).hexdigest())
    return files


CASES = [(truth, "exact"), (truth, "parallel_tempering")]
CASES += [(estimate, name) for name in ("cd", "pcd", "fpcd", "ucd", "parallel_tempering")]
CASES += [(couple, name) for name in ("rbm", "general", "both_layers", "from_start")]
CASES += [(sample, name) for name in samplers.REGISTRY.names()]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    monkeypatch.setattr(gradient_bias, "SWEEPS_AT_ONCE", 2)
    monkeypatch.setattr(meeting_times, "PAIRS", 101)
    monkeypatch.setattr(sampling, "BLOCK", 3)


@pytest.mark.parametrize(("measurement", "option"), CASES)
def test_a_measurement_stopped_after_every_part_has_the_same_result(measurement, option, tmp_path):
    expected = content(measurement(Inputs(), None, option), tmp_path)
    path, stops, outputs = tmp_path / "state.npz", [], None
    while outputs is None:
        try:
            outputs = measurement(Inputs(), Checkpointer(path, stopping=lambda: 15), option)
        except StoppedError as stop:
            stops.append(str(stop))
    assert len(stops) >= 2
    for number, line in enumerate(stops, start=1):
        assert line.startswith(f"stopped at part {number} of ")
        assert line.endswith(f"; run the same command again to resume from {path}")
    assert content(outputs, tmp_path) == expected


def changed(array: np.ndarray) -> np.ndarray:
    """Return a copy with the smallest change of one entry."""
    other = array.copy()
    other.flat[5] = 1 - other.flat[5] if other.dtype == np.uint8 else np.nextafter(other.flat[5], np.inf)
    return other


def with_part(name: str) -> Inputs:
    return Inputs(parts=tuple((PARTS | {name: changed(PARTS[name])}).items()))


OTHERS = {
    "seed": Inputs(seed=4),
    "W": Inputs(rbm=RBM(changed(MODELS.W), MODELS.b, MODELS.c)),
    "c": Inputs(rbm=RBM(MODELS.W, MODELS.b, changed(MODELS.c))),
    "train": with_part("train"),
    "validation": with_part("validation"),
    "test": with_part("test"),
    "truth": Inputs(truth=replace(EXACT, mean=changed(EXACT.mean))),
}
USED = {
    truth: ("seed", "W", "c", "train"),
    estimate: ("seed", "W", "c", "train", "truth"),
    couple: ("seed",),
    sample: ("seed", "W", "c", "train", "validation", "test"),
}
OPTIONS = {truth: "parallel_tempering", estimate: "cd", couple: "rbm", sample: "gibbs"}


@pytest.mark.parametrize(("measurement", "other"), [(case, other) for case in USED for other in USED[case]])
def test_a_checkpoint_of_other_inputs_raises(measurement, other, tmp_path):
    option, path = OPTIONS[measurement], tmp_path / "state.npz"
    with pytest.raises(StoppedError):
        measurement(Inputs(), Checkpointer(path, stopping=lambda: 15), option)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match="checkpoint must be of these settings, data and models"):
        measurement(OTHERS[other], Checkpointer(path), option)
    assert path.read_bytes() == before


def test_a_checkpoint_of_other_pairs_raises(tmp_path):
    settings, path = CouplingSettings(visible=13, hidden=7, coupling="rbm", replications=503), tmp_path / "state.npz"
    with pytest.raises(StoppedError):
        meeting_times.coupled_stopping_times(settings, Checkpointer(path, stopping=lambda: 15), slice(0, 2))
    with pytest.raises(CheckpointError, match="checkpoint must be of these settings, data and models"):
        meeting_times.coupled_stopping_times(settings, Checkpointer(path), slice(2, 4))


def test_spent_seconds_include_those_before_an_interruption(tmp_path, monkeypatch):
    clock: list[Any] = [100.0]
    monkeypatch.setattr("rbmbench.training.checkpoint.perf_counter", lambda: clock[0])
    first = Checkpointer(tmp_path / "state.npz")
    assert first.resume("mine") is None
    clock[0] += 7
    first.save({})
    clock[0] += 1000
    second = Checkpointer(tmp_path / "state.npz")
    assert second.resume("mine") == {}
    clock[0] += 11
    assert second.spent()[0] == 18
