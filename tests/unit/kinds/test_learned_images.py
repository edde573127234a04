# SPDX-License-Identifier: BSD-3-Clause
"""Figures of filters and samples during training: numbers, picture, caption and invalid settings."""

import numpy as np
import pandas as pd
import pytest
from image_results import IMAGES, ITERATIONS, images_figure
from reporting_results import drawn

from rbmbench.base.errors import SettingsError
from rbmbench.config.loading import load
from rbmbench.kinds import parse_spec
from rbmbench.kinds.learned_images import LearnedImagesSpec
from rbmbench.model.rbm import RBM
from rbmbench.planning.plan import plan
from rbmbench.reporting import text_tables
from rbmbench.reporting.mosaics import FILTER, SAMPLE, images_of, picture_of, rows_of


@pytest.fixture(scope="module")
def spec(tmp_path_factory) -> LearnedImagesSpec:
    return parse_spec(images_figure(tmp_path_factory.mktemp("images")), "test")


def test_numbers_are_filters_and_samples_of_all_snapshots(spec):
    numbers = spec.numbers(spec.read())
    assert len(numbers) == 2 * len(ITERATIONS) * 2 * IMAGES
    arrays = np.load(f"{spec.panels[0].runs[1].folder}/model.npz")
    model = RBM(*(arrays[f"snapshot_{name}"][:, 0] for name in "Wbc"))
    samples = model.sample(IMAGES, 3)
    pcd_numbers = numbers[numbers["algorithm"] == "pcd_1"]
    assert pcd_numbers["iteration"].unique().tolist() == ITERATIONS
    for position, iteration in enumerate(ITERATIONS):
        rows, filters = pcd_numbers[pcd_numbers["iteration"] == iteration], model.W[position].T[:IMAGES]
        largest = np.abs(filters).max(axis=1, keepdims=True)
        # Half of the distance between two of the 15 levels.
        assert np.abs(images_of(rows, FILTER).reshape(IMAGES, -1) - filters / largest).max() <= 0.5 / 7 + 1e-6
        assert rows["largest"].max() == pytest.approx(largest.max())
        assert np.array_equal(images_of(rows, SAMPLE).reshape(IMAGES, -1), samples[position])


def test_numbers_are_the_same_from_their_csv(spec, tmp_path):
    numbers = spec.numbers(spec.read())
    text_tables.write_csv(numbers, tmp_path / "numbers.csv")
    again = pd.read_csv(tmp_path / "numbers.csv")
    assert spec.chart(again) == spec.chart(numbers)


def test_extreme_filters_have_extreme_pixels():
    W = np.array([[-2.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 0.0]])
    rows = rows_of(W, np.array([[0, 1, 1, 0]]))
    assert rows["pixels"].tolist() == ["bmpi", "iiii", "appa"]
    assert rows["largest"].tolist()[:2] == [2.0, 0.0]


def test_filters_are_red_above_0_and_blue_below_and_samples_dark():
    line = np.concatenate([[[[1.0]]], [[[-1.0]]], [[[0.0]]], [[[0.0]]]])
    colours = picture_of(line, FILTER)
    red, blue, white = colours[1, 1].tolist(), colours[1, 3].tolist(), colours[3, 1].tolist()
    assert red[0] > red[2] + 50
    assert blue[2] > blue[0] + 50
    assert min(white) > 230
    assert picture_of(np.array([[[1.0]]]), SAMPLE)[1, 1].max() == 0


def test_picture_has_two_rows_per_algorithm_and_a_column_per_iteration(spec):
    figure = drawn(spec)
    assert len(figure.axes) == 2 * 2 * len(ITERATIONS)
    assert [ax.get_title() for ax in figure.axes[: len(ITERATIONS)]] == ["iteration 0", "10", "300"]
    assert [ax.get_ylabel() for ax in figure.axes[:: len(ITERATIONS)]] == [
        "CD_1\nfilters",
        "CD_1\nsamples",
        "PCD_1\nfilters",
        "PCD_1\nsamples",
    ]
    assert "300 of 9\N{NO-BREAK SPACE}000 iterations" in figure.get_suptitle()


def test_caption_of_learned_images(spec):
    caption = spec.caption(spec.read()).replace("\N{NO-BREAK SPACE}", " ")
    for part in ("RBMs of 7 hidden units after 0, 10 and 300 iterations", "first 5 hidden units", "300 of 9 000"):
        assert part in caption


def test_page_has_pictures_of_all_models(spec):
    images = spec.chart(spec.read()).images
    filters, samples = images[::2], images[1::2]
    models = [(key, at) for key in ("cd_1", "pcd_1") for at in ITERATIONS]
    assert [(image.key, image.iteration) for image in filters] == models
    assert {image.name for image in filters} == {"filters"}
    assert len({image.address for image in filters}) == len(filters)
    assert all(image.address.startswith("data:image/webp;base64,") for image in samples)


@pytest.fixture
def overlay(repository, tmp_path, monkeypatch):
    """Return a function that reads the smoke scale of the arena with changes of its Figure 5."""
    monkeypatch.chdir(repository)

    def read(**changes):
        file = tmp_path / "own.yaml"
        text_tables.write_text(str({"overrides": {"arena": {"figures": {"fig5": changes}}}}), file)
        return load(["config/config.yaml", "config/smoke.yaml", str(file)])

    return read


INVALID = [
    ({"algorithms": ["cd_11"]}, "algorithms: unknown algorithm 'cd_11'"),
    ({"panels": {"a": {"trials": 3}}}, "trials: "),
    ({"panels": {"a": {"hidden": 23}}}, "hidden: must be at least 26, .*, got (23|29)"),
    ({"panels": {"a": {"evaluate_every": 20}}}, "evaluate_every: must "),
    ({"panels": {"a": {"data": "modes_held_out"}}}, "hidden: must be at least 26, .*, got (23|29)"),
    ({"panels": {"a": {"data": "simulated_held_out"}}}, "data: must be square images, got .*, of 200 visible units"),
    ({"images": 31}, "images: must be at most the 29 hidden units, got 31"),
    ({"images": 37}, "images: "),
]


@pytest.mark.parametrize(("changes", "message"), INVALID)
def test_invalid_settings_raise(overlay, changes, message):
    with pytest.raises(SettingsError, match=message):
        overlay(**changes)


def test_plan_trains_one_trial_per_algorithm_without_annealing(overlay):
    overlay_plan = plan(overlay(algorithms=["cd_1", "pcd_1", "pt_10"]))
    (output,) = [entry for entry in overlay_plan.outputs.values() if entry.spec.kind == "learned_images"]
    assert [overlay_plan.jobs[run].settings.trials for run in output.jobs] == [1, 1, 1]
    assert {overlay_plan.jobs[run].settings.seed for run in output.jobs} == {
        overlay_plan.jobs[output.jobs[0]].settings.seed
    }
    assert {overlay_plan.jobs[job].kind for job in output.jobs} == {"train"}
    (iterations,) = [change for change in output.spec.differences if change.setting == "iterations"]
    assert (iterations.published, iterations.kind) == (10000, "budget")


def test_caption_has_the_rates_of_all_algorithms(spec):
    panel = spec.panels[0].model_copy(update={"rates": (0.01, 0.1)})
    caption = spec.model_copy(update={"panels": (panel,)}).caption(spec.read())
    assert "at rates 0.01 and 0.1, one trial" in caption
