# SPDX-License-Identifier: BSD-3-Clause
"""Stopping times of coupled chains: models and starts, the subcommand, and the figure."""

import json

import numpy as np
import pandas as pd
import pytest
from reporting_results import differences, drawn
from scipy import stats

from rbmbench.base.errors import ResultsError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import CouplingSettings
from rbmbench.cli import main
from rbmbench.config.parts import Printed
from rbmbench.io import results
from rbmbench.io.atomic import write_json
from rbmbench.kinds.coupling_times import CouplingTimesSpec, distribution
from rbmbench.measurements import meeting_times
from rbmbench.measurements.meeting_times import coupled_stopping_times, start_of
from rbmbench.planning.forecast.records import records_of

SETTINGS = {"visible": 13, "hidden": 7, "width": 0.3, "coupling": "rbm", "replications": 503, "longest": 29, "seed": 5}


def settings(**changes) -> CouplingSettings:
    return parse(CouplingSettings, SETTINGS | changes, "test")


@pytest.fixture
def sampler(monkeypatch):
    """Calls of a replaced sampler, in which chain i takes i + 1 steps, up to the longest."""
    calls = {"starts": []}

    def stopping_times(rbm, start, meeting_times, longest, stream, first):
        calls.update(coupling=meeting_times, longest=longest)
        calls["starts"].append(start)
        return np.minimum(first + np.arange(1, start.shape[1] + 1), longest)[None].astype(np.int32)

    monkeypatch.setattr(meeting_times, "stopping_times", stopping_times)
    return calls


def test_model_is_normal_and_starts_are_uniform():
    rbm, start = start_of(settings(visible=101, hidden=53))
    assert (rbm.W.shape, rbm.b.shape, rbm.c.shape) == ((1, 101, 53), (1, 101), (1, 53))
    assert start.shape == (1, 503, 101)
    assert start.dtype == rbm.W.dtype
    assert set(np.unique(start)) == {0, 1}
    # Error rate 1e-3 each.
    assert stats.kstest(rbm.W.ravel() / 0.3, "norm").pvalue > 1e-3
    assert stats.binomtest(int(start.sum()), start.size).pvalue > 1e-3


def test_couplings_share_model_and_starts_and_seeds_do_not(sampler):
    start, other = start_of(settings()), start_of(settings(coupling="general"))
    assert start[0].W.tobytes() == other[0].W.tobytes()
    assert start[1].tobytes() == other[1].tobytes()
    assert start_of(settings(seed=6))[1].tobytes() != start[1].tobytes()
    coupled_stopping_times(settings(coupling="general"))
    assert (sampler["coupling"], sampler["longest"]) == ("general", 29)
    np.testing.assert_array_equal(np.concatenate(sampler["starts"], axis=1), start[1])


@pytest.mark.parametrize("coupling", ["rbm", "general", "both_layers", "from_start"])
def test_stopping_times_do_not_depend_on_parts(monkeypatch, coupling):
    times = coupled_stopping_times(settings(coupling=coupling))
    assert len(set(times.tolist())) > 3
    monkeypatch.setattr(meeting_times, "PAIRS", 503)
    np.testing.assert_array_equal(coupled_stopping_times(settings(coupling=coupling)), times)


def test_the_subcommand_writes_times_and_meta(sampler, tmp_path):
    arguments = ["--settings", json.dumps(SETTINGS), "--scale", "tiny", "--out", str(tmp_path / "chains")]
    assert main(["job", "couple", *arguments]) == 0
    times = results.read_table(tmp_path / "chains", "stopping_times.parquet")
    assert times["chain"].tolist() == list(range(503))
    assert times["stopping_time"].tolist() == [*range(1, 29), *[29] * 475]
    meta = results.read_meta(tmp_path / "chains")
    assert (meta["settings"], meta["scale"], meta["seed"]) == (SETTINGS, "tiny", 5)
    assert meta["wall"]["measuring_seconds"] > 0
    assert records_of(meta) == []  # of a forecast


def test_invalid_settings_are_an_error(capsys):
    assert main(["job", "couple", "--settings", json.dumps(SETTINGS | {"coupling": "maximal"}), "--out", "x"]) == 2
    assert "coupling: must be 'general', 'rbm', 'both_layers' or 'from_start', got 'maximal'" in capsys.readouterr().err


def chains(folder, times) -> str:
    """Write stopping times as the subcommand does, and return the folder."""
    table = pd.DataFrame({"chain": range(len(times)), "stopping_time": times})
    results.write_table(folder / "stopping_times.parquet", table)
    write_json(folder / "meta.json", {"settings": {}})
    return str(folder)


def coupling_figure(tmp_path, **times) -> dict:
    """Write the stopping times of a figure and return its spec."""
    spec = {"key": "ucd_fig5", "paper": "ucd", "title": "Times", "kind": "coupling_times", "scale": "tiny"}
    spec |= {"visible": 13, "hidden": 7, "width": 0.3, "replications": 5, "longest": 29}
    spec |= {"differences": differences(spec, {"replications": 1000})}
    folders = [{"coupling": name, "folder": chains(tmp_path / name, values)} for name, values in times.items()]
    return spec | {"couplings": folders}


@pytest.fixture
def spec(tmp_path):
    values = coupling_figure(tmp_path, general=[3, 29, 31, 29, 17], rbm=[1, 2, 2, 11, 3])
    return parse(CouplingTimesSpec, values, "test")


def test_a_pair_that_reached_the_longest_time_has_not_met(spec):
    times = spec.read()
    assert times["met"].tolist() == [True, False, False, False, True] + [True] * 5
    assert times["stopping_time"].max() == 29


def test_distribution_counts_every_pair_once(spec):
    table = distribution(spec.read())
    general = table[table["coupling"] == "general"]
    assert general["stopping_time"].tolist() == [3, 17, 29]
    assert general["chains"].tolist() == [1, 1, 3]
    assert general["share_within"].tolist() == pytest.approx([0.2, 0.4, 0.4])
    rbm = table[table["coupling"] == "rbm"]
    assert rbm["share_within"].tolist() == pytest.approx([0.2, 0.6, 0.8, 1.0])


def test_the_figure_shows_shares_of_all_pairs(spec, tmp_path):
    picture = drawn(spec)
    histogram, shares = picture.axes
    assert [line.get_ydata()[-1] for line in shares.get_lines()] == pytest.approx([0.4, 1.0])
    outlines = [patch for patch in histogram.patches if not patch.get_fill()]
    assert [patch.get_data().values.sum() for patch in outlines] == pytest.approx([0.4, 1.0])
    labels = [text.get_text() for text in picture.legends[0].get_texts()]
    assert labels[0] == "general coupling (Algorithm 1): 40 % met in less than 29"
    assert "5 of 1\N{NO-BREAK SPACE}000 replications" in picture.get_suptitle()


def test_caption_has_shares_of_early_meetings_and_cuts(spec):
    words = spec.caption(spec.read())
    assert "general coupling (Algorithm 1), 20 % met within 10 steps and 60 % were cut" in words
    assert "coupling for RBMs (Algorithm 3), 80 % met within 10 steps and 0 % were cut" in words
    assert "Hollow marks" not in words


def test_caption_explains_hollow_marks(spec):
    marked = spec.model_copy(update={"printed": (Printed(value=0.654, label="share within 10 steps", at=10),)})
    words = "Hollow marks: printed in the paper (share within 10 steps, 0.654)."
    assert words in marked.caption(marked.read())


def test_invalid_times_raise(tmp_path):
    values = coupling_figure(tmp_path, rbm=[0, 2])
    with pytest.raises(ResultsError, match=r"stopping_times\.parquet: must be times of at least 1, got 0"):
        parse(CouplingTimesSpec, values, "test").read()
