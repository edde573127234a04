# SPDX-License-Identifier: BSD-3-Clause
"""Plots of curves, filters and samples: contents of the axes, and errors."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from core_helpers import binary_data, random_rbm
from matplotlib.figure import Figure

from rbmbench import plot_curve, plot_filters, plot_samples
from rbmbench.base.errors import DataError, SettingsError
from rbmbench.training.plots import tiled

CURVE = pd.DataFrame(
    [
        (trial, iteration, metric, sign * (10 * trial + iteration))
        for trial in range(3)
        for iteration in (5, 7)
        for metric, sign in (("log_likelihood", -1.0), ("rejections", 1.0))
    ],
    columns=["trial", "iteration", "metric", "value"],
)


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    plt.close("all")


def test_a_curve_is_the_mean_and_the_range_of_the_trials(ax):
    assert plot_curve(CURVE, ax=ax, color="red") is ax
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [(5, -15), (7, -17)])
    band = ax.collections[0].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == (-27, -5)
    assert ax.get_ylabel() == "log-likelihood (nats per row)"
    assert plot_curve(CURVE, "rejections", ax).get_ylabel() == "mean rejected proposals (per chain)"


def test_an_unknown_metric_raises(ax):
    with pytest.raises(SettingsError, match=r"^unknown metric 'rejection'; nearest: 'rejections'; allowed: log_lik"):
        plot_curve(CURVE, "rejection", ax)


def test_current_axes_are_the_default():
    current = plt.figure().subplots()
    assert plot_samples(binary_data(11, 6)) is current


def test_images_are_tiled_in_reading_order():
    images = np.arange(5 * 2 * 3).reshape(5, 2, 3)
    page = tiled(images)
    assert page.shape == (10, 9)  # 3 rows of 2, with a pixel around each
    np.testing.assert_array_equal(page[1:3, 1:4], images[0])
    np.testing.assert_array_equal(page[1:3, 5:8], images[1])
    np.testing.assert_array_equal(page[7:9, 1:4], images[4])
    assert np.isnan(page).sum() == page.size - images.size


def test_filters_are_the_columns_of_the_weights(ax):
    rbm = random_rbm(6, 5, seed=1)
    image = plot_filters(rbm, (2, 3), ax, most=3).images[0]
    assert image.get_array().shape == (7, 9)
    np.testing.assert_array_equal(image.get_array()[1:3, 5:8], rbm.W[:, 1].reshape(2, 3))
    assert image.get_clim() == (-np.abs(rbm.W[:, :3]).max(), np.abs(rbm.W[:, :3]).max())


def test_plots_without_a_shape_draw_a_matrix(ax):
    rbm = random_rbm(6, 5, seed=1)
    np.testing.assert_array_equal(plot_filters(rbm, ax=ax).images[0].get_array(), rbm.W)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("hidden unit", "visible unit")
    states = binary_data(11, 6)
    other = plot_samples(states, ax=Figure().subplots())
    np.testing.assert_array_equal(other.images[0].get_array(), states.T)
    assert other.get_xlabel() == "sample"


def test_names_of_units_are_escaped_and_shortened_in_the_middle(ax):
    names = [r"$\foo$", "a_b", "the same first half of a name, and one", "the same first half of a name, and two"]
    plot_filters(random_rbm(4, 5), ax=ax, names=names)
    ax.figure.draw_without_rendering()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[:2] == [r"\$\foo\$", "a_b"]
    assert len({*labels}) == 4
    assert max(map(len, labels)) <= 30


def test_weights_of_zero_have_colour_limits(ax):
    rbm = random_rbm(6, 5, scale=0.0)
    assert plot_filters(rbm, (2, 3), ax).images[0].get_clim() == (-1, 1)


@pytest.mark.parametrize("shape", [(2, 4), (-2, -3), (1.5, 4), (6,), 6, "23", (2, 3, 1)])
def test_invalid_shapes_raise(ax, shape):
    with pytest.raises(SettingsError, match=r"^shape: must be rows and columns whose product is 6, got .*"):
        plot_samples(binary_data(11, 6), shape, ax)


def test_filters_of_several_models_raise(ax):
    with pytest.raises(SettingsError, match=r"^plot_filters: must be one model, .*, got an RBM of shape \(2, 6, 5\)"):
        plot_filters(random_rbm(6, 5, (2,)), None, ax)


def test_states_other_than_0_and_1_raise(ax):
    with pytest.raises(DataError, match=r"^states: must .*, got the value 3"):
        plot_samples([[0, 1, 3]], ax=ax)


def test_plots_do_not_change_settings_of_matplotlib(ax):
    before = dict(mpl.rcParams)
    plot_samples(binary_data(11, 6), (2, 3), ax)
    plot_curve(CURVE, ax=ax)
    assert dict(mpl.rcParams) == before
