# SPDX-License-Identifier: BSD-3-Clause
"""Drawing again: from kept numbers as from runs, and what is refused."""

import gzip
import json

import pytest
from reporting_results import falling, figure, rising

from rbmbench import cli
from rbmbench.planning.specs import parse_spec
from rbmbench.reporting import redraw, style

KEY = "popcd_fig1"


@pytest.fixture
def kept(tmp_path):
    """A kept figure without its runs."""
    curves = {"cd_1": falling(-9.0, -5.0), "pop_cd_1": rising(-4.0)}
    values = figure(tmp_path / "live", {"a": {"curves": curves, "mark": 0.9}})
    spec, root = parse_spec(values, "test"), tmp_path / "kept"
    redraw.keep_figure(spec, values, redraw.Layout(str(root)))
    (root / "data").mkdir()
    numbers = spec.numbers(spec.read()).to_csv(index=False)
    (root / "data" / f"{KEY}.csv.gz").write_bytes(gzip.compress(numbers.encode()))
    return root


def run(*arguments):
    return cli.main(["redraw", *map(str, arguments)])


def test_a_kept_figure_is_drawn_as_from_its_runs(kept):
    files = [kept / f"figures/{KEY}.{ending}" for ending in ("png", "pdf", "svg", "md")]
    before = [file.read_bytes() for file in files]
    for file in files:
        file.unlink()
    assert run(kept) == 0
    assert [file.read_bytes() for file in files] == before
    assert (kept / f"figures/{KEY}.svg").read_text().startswith("<?xml")


def test_kept_specs_name_no_place_of_a_machine(kept, tmp_path):
    assert str(tmp_path) not in (kept / f"specs/{KEY}.json").read_text()


def test_a_folder_without_specs_is_one_line(tmp_path, capsys):
    assert run(tmp_path) == 2
    assert f"{tmp_path}: specs: found no figure or table; allowed: " in capsys.readouterr().err


@pytest.mark.parametrize("width", ["3.3", "6.9"])
def test_pictures_for_a_publication_have_its_width_and_no_title(kept, tmp_path, width):
    values = json.loads((kept / f"specs/{KEY}.json").read_text())
    spec = parse_spec(values, "test")
    drawn = spec.picture(redraw.numbers_of(redraw.Layout(str(kept)), KEY), values["facts"], style.PUBLICATION[width])
    assert drawn.get_figwidth() == float(width)
    assert drawn.get_suptitle() == ""
    before = (kept / f"specs/{KEY}.json").read_bytes()
    assert run(kept, "--width", width) == 2
    assert run(kept, "--width", width, "--out", tmp_path / "journal") == 0
    assert sorted(path.suffix for path in (tmp_path / "journal/figures").iterdir()) == [".md", ".pdf", ".png", ".svg"]
    assert (kept / f"specs/{KEY}.json").read_bytes() == before


def test_numbers_of_another_figure_are_refused_in_one_line(kept, capsys):
    (kept / f"data/{KEY}.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert run(kept) == 2
    assert "its numbers do not fit" in capsys.readouterr().err


@pytest.mark.parametrize("scale", ["paper", "desktop"])
def test_every_kept_figure_has_a_spec(repository, scale):
    folder = repository / "results/reference" / scale
    figures = {path.stem for path in (folder / "figures").glob("*.png")}
    assert figures == {path.stem for path in (folder / "specs").glob("*_fig*.json")}
