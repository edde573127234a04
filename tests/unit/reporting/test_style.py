# SPDX-License-Identifier: BSD-3-Clause
"""Colours and dashes of configured algorithms and samplers, and files of pictures."""

import re
from itertools import combinations
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest

from rbmbench.base.errors import SettingsError
from rbmbench.base.parsing import parse
from rbmbench.config.loading import load
from rbmbench.config.parts import Algorithm
from rbmbench.planning.chart import Chart, Entry, Legend
from rbmbench.planning.plan import plan
from rbmbench.reporting import style
from rbmbench.reporting.drawing import looks_of_chart


@pytest.fixture(scope="module")
def configuration(repository):
    return load([repository / "config/config.yaml"])


def keys_of(paper):
    return [*paper.algorithms, *paper.samplers]


def curves_of(spec):
    """Yield the entries of all curves of a figure, with the name of the attribute that is their key."""
    for panel in getattr(spec, "panels", ()):
        yield from ((sampler, "sampler") for sampler in getattr(panel, "samplers", ()))
        if not hasattr(panel, "samplers"):
            yield from ((run, "algorithm") for run in panel.runs)


def pair(look):
    return look["color"], look["linestyle"]


LEAST_CONTRAST = 3.0
"""Least contrast of graphics with white, as WCAG 2.1 requires."""


def contrast(color: str) -> float:
    """Return the contrast of a colour #RRGGBB with white, 1 to 21, as WCAG 2.1 defines it."""
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 1.05 / (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)


def test_colours_have_the_least_contrast_with_white(configuration):
    for paper in configuration.papers:
        for name in keys_of(paper):
            color = style.look_of(name)["color"]
            assert contrast(color) >= LEAST_CONTRAST, (name, color)


def test_curves_of_a_figure_have_different_looks(configuration):
    for key, output in plan(configuration).figures.items():
        looks = {}
        for curve, name in curves_of(output.spec):
            key_of_curve = getattr(curve, name)
            looks[key_of_curve] = style.look_of(key_of_curve, curve.color, curve.dash)
        for (first, a), (second, b) in combinations(looks.items(), 2):
            assert pair(a) != pair(b), (key, first, second)


def test_an_algorithm_of_several_papers_has_one_look(configuration):
    looks = {}
    for paper in configuration.papers:
        for key, algorithm in paper.algorithms.items():
            assert looks.setdefault(key, (algorithm.color, algorithm.dash)) == (algorithm.color, algorithm.dash), (
                paper.key,
                key,
            )


def test_colour_of_a_key_is_that_of_its_family(configuration):
    coloured = {key for paper in configuration.papers for key, algorithm in paper.algorithms.items() if algorithm.color}
    known = {key for paper in configuration.papers for key in keys_of(paper)} - coloured
    families = {key: max((f for f in style.FAMILIES if f"{key}_".startswith(f"{f}_")), key=len) for key in known}
    for key, family in families.items():
        hue, _ = style.FAMILIES[family]
        colours = {style._scaled(hue, brightness) for brightness, _ in style.VARIANTS.values()}
        assert style.look_of(key)["color"] in colours, key


def test_unknown_keys_have_reproducible_looks():
    assert pair(style.look_of("newcomer")) == pair(style.look_of("newcomer"))
    looks = [style.look_of(f"new_{number}") for number in range(100)]
    assert all(contrast(look["color"]) >= LEAST_CONTRAST for look in looks)
    assert len({pair(look) for look in looks}) > 20


def test_look_of_an_entry_overrides_that_of_its_key():
    own = Entry(label="CD-1", key="cd_1", color="#123456", dash="dotted")
    looks = looks_of_chart(Chart(legend=Legend(entries=(own,))))
    assert pair(looks["cd_1"]) == ("#123456", style.DOTTED)
    assert set(style.DASHES) == {"solid", "dashed", "dotted", "dash_dotted", "long"}


@pytest.mark.parametrize(("key", "value"), [("color", "red"), ("color", "#12345"), ("dash", "wavy")])
def test_invalid_colours_and_dashes_raise(key, value):
    with pytest.raises(SettingsError, match=key):
        parse(Algorithm, {"label": "CD-1", "estimator": "cd", key: value}, "test")


def test_pictures_do_not_depend_on_the_settings_of_matplotlib(tmp_path):
    def drawn(name):
        with style.theme():
            figure = style.page(1)
            figure.add_subplot().plot([2, 3, 5])
        style.save(figure, tmp_path / name)
        return (tmp_path / name).read_bytes()

    plain = drawn("plain.png")
    with mpl.rc_context({"text.usetex": True, "savefig.transparent": True, "axes.facecolor": "red", "font.size": 31}):
        assert drawn("own.png") == plain


def test_an_svg_has_the_coordinates_of_matplotlib_to_a_hundredth_of_a_point(tmp_path):
    figure = style.page(1)
    ax = figure.subplots()
    x = np.linspace(0, 7, 101)
    ax.plot(x, np.sin(x), gid="sine")
    ax.fill_between(x, np.sin(x), 2)
    ax.text(3, 0, "0.123456 L 5")
    style.save(figure, tmp_path / "shortened.svg")
    with style.theme(), mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(tmp_path / "whole.svg")
    number = r"-?\d+(?:\.\d+)?"

    def paths(name):
        elements = ElementTree.parse(tmp_path / name).iter("{http://www.w3.org/2000/svg}path")
        data = [element.get("d") for element in elements if len(element.get("d", "")) > 500]
        return [re.findall(r"[A-Za-z]", d) for d in data], [np.array(re.findall(number, d), float) for d in data]

    (letters, places), (expected_letters, expected) = paths("shortened.svg"), paths("whole.svg")
    assert len(places) == 2
    assert letters == expected_letters
    for path, expected_path in zip(places, expected, strict=True):
        np.testing.assert_allclose(path, expected_path, rtol=0, atol=0.00501)
    assert ">0.123456 L 5<" in (tmp_path / "shortened.svg").read_text()
