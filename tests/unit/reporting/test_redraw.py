# SPDX-License-Identifier: BSD-3-Clause
"""Redrawing of kept figures from their charts, and errors of `rbmbench redraw`."""

import base64
import json
import shutil
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from reporting_results import falling, figure, rising

from rbmbench import cli
from rbmbench.base.metrics import METRICS
from rbmbench.io.layout import Layout
from rbmbench.planning.chart import Chart
from rbmbench.planning.specs import parse_spec
from rbmbench.reporting import charts, style
from rbmbench.reporting.drawing import draw_chart
from rbmbench.reporting.page.panels import panel_of

KEY = "popcd_fig1"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A kept figure without its runs; read only."""
    folder = tmp_path_factory.mktemp("redraw")
    curves = {"cd_1": falling(-9.0, -5.0), "pop_cd_1": rising(-4.0)}
    values = figure(folder / "live", {"a": {"curves": curves, "mark": 0.9}})
    spec, root = parse_spec(values, "test"), folder / "kept"
    figure_of = Layout(str(root)).figure
    files = {ending: figure_of(KEY, ending) for ending in ("json", "md", "pdf", "png", "svg")}
    charts.write_figure(spec, spec.read(), csv=str(root / "data" / f"{KEY}.csv"), **files)
    return root


@pytest.fixture
def kept(drawn, tmp_path):
    """A writable copy of the kept figure."""
    return Path(shutil.copytree(drawn, tmp_path / "kept"))


def run(*arguments):
    return cli.main(["redraw", *map(str, arguments)])


def test_a_redrawn_figure_equals_the_one_drawn_from_runs(kept):
    files = [kept / f"figures/{KEY}.{ending}" for ending in ("png", "pdf", "svg", "md")]
    before = [file.read_bytes() for file in files]
    for file in files:
        file.unlink()
    assert run(kept) == 0
    assert [file.read_bytes() for file in files] == before
    assert (kept / f"figures/{KEY}.svg").read_text().startswith("<?xml")


def test_changed_units_are_drawn_in_kept_pictures_and_on_the_page(kept, monkeypatch, capsys):
    chart = kept / f"figures/{KEY}.json"
    before = chart.read_bytes()
    assert run(kept, "--check") == 0
    metric = replace(METRICS["log_likelihood"], title="log p(v)", unit="bits")
    monkeypatch.setitem(METRICS, "log_likelihood", metric)
    assert run(kept, "--check", "--out", "elsewhere") == 2
    assert "--check: must be without --out" in capsys.readouterr().err
    assert run(kept, "--check") == 2
    assert f"{kept}: must be as drawn now, got other {KEY}" in capsys.readouterr().err
    assert run(kept) == 0
    words = (kept / f"figures/{KEY}.svg").read_text()
    for text in ("log p(v) of the training set", "(bits)", "mean per sample (bits)"):
        assert f">{text}</text>" in words
    assert panel_of(charts.read(Chart, chart).panels[0]).y_title == "log p(v) (bits per sample)"
    assert run(kept, "--check") == 0
    assert chart.read_bytes() == before


def test_check_ignores_differences_of_one_level_in_pixels(kept):
    file = kept / f"figures/{KEY}.png"
    with Image.open(file) as picture:
        pixels = np.asarray(picture).copy()
    for levels, code in ((1, 0), (29, 2)):
        pixels[19:23, 31:37, :3] -= np.uint8(levels)  # of the white edge
        Image.fromarray(pixels).save(file)
        assert run(kept, "--check") == code
    file.unlink()
    assert run(kept, "--check") == 2


def test_a_chart_has_no_absolute_paths(drawn):
    assert str(drawn.parent) not in (drawn / f"figures/{KEY}.json").read_text()


def test_a_folder_without_figures_raises_a_one_line_error(tmp_path, capsys):
    assert run(tmp_path) == 2
    assert f"{tmp_path}: must have figures or tables, got none" in capsys.readouterr().err


@pytest.mark.parametrize("width", ["3.3", "6.9"])
def test_pictures_for_a_publication_have_its_width_and_no_title(kept, tmp_path, width):
    picture = draw_chart(charts.read(Chart, kept / f"figures/{KEY}.json"), style.PUBLICATION[width])
    assert picture.get_figwidth() == float(width)
    assert picture.get_suptitle() == ""
    before = (kept / f"figures/{KEY}.png").read_bytes()
    assert run(kept, "--width", width) == 2
    assert run(kept, "--width", width, "--out", tmp_path / "journal") == 0
    assert sorted(path.suffix for path in (tmp_path / "journal/figures").iterdir()) == [".md", ".pdf", ".png", ".svg"]
    assert (kept / f"figures/{KEY}.png").read_bytes() == before


@pytest.mark.parametrize("name", ["popcd_fig2", "sdcp_fig3", "ucd_fig2"])
def test_axes_fill_three_quarters_of_a_column(repository, name):
    chart = charts.read(Chart, repository / f"results/reference/paper/figures/{name}.json")
    picture = draw_chart(chart, style.PUBLICATION["3.3"])
    picture.draw_without_rendering()
    assert min(ax.get_position().width for ax in picture.axes) > 0.745
    notes = [note for ax in picture.axes for note in ax.texts if note.get_text() and not note.get_gid()]
    assert all(note.get_window_extent().x1 <= picture.bbox.x1 for note in notes)
    if name == "sdcp_fig3":
        words = notes[1].get_text().replace("\N{NO-BREAK SPACE}", " ").replace("\n", " ")
        particles = "CD-24 1, PCD-24 1, S-DCP 6x4 1.1, CS-DCP 6x4 2"
        assert words == f"1 of 10 trials log Z rests on few particles: {particles}"


def test_a_damaged_chart_raises_a_one_line_error(kept, capsys):
    file = kept / f"figures/{KEY}.json"
    values = json.loads(file.read_text())
    values["panels"][0]["series"][0]["high"].pop()
    file.write_text(json.dumps(values))
    assert run(kept) == 2
    assert "cd_1: must have 41 values, one for each x, got 40" in capsys.readouterr().err


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


SIZE = struct.pack(">IIBBBBB", 20011, 20011, 1, 0, 0, 0, 0)
LARGE = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", SIZE) + chunk(b"IDAT", b"")


@pytest.mark.parametrize(
    "data", ["A", "AAAA", base64.b64encode(LARGE).decode()], ids=["no base64", "no image", "too large"]
)
def test_an_image_that_cannot_be_decoded_raises_a_one_line_error(kept, capsys, data):
    image = {"key": "cd_1", "label": "CD-1", "name": "filters", "address": f"data:image/png;base64,{data}"}
    file = kept / f"figures/{KEY}.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"panels": [], "images": [image]}))
    assert run(kept) == 2
    message = "images: CD-1, filters: cannot be decoded; make the figure again"
    assert f"error: {message}\n" in capsys.readouterr().err
