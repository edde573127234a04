# SPDX-License-Identifier: BSD-3-Clause
"""Pauses, checkpoints and boundaries of the training loop."""

import pytest

from rbmbench.base.pace import Pace
from rbmbench.training import checkpoint, loop
from rbmbench.training.checkpoint import Checkpointer


def pieces(seconds_an_iteration, stretch, iterations):
    """Return the numbers of iterations of the pieces of a run that is evaluated after every stretch."""
    pace, lengths, at = Pace(), [], 0
    while at < iterations:
        piece = min(pace.steps, stretch - at % stretch)
        pace.update(piece, piece * seconds_an_iteration)
        lengths.append(piece)
        at += piece
    return lengths


def test_pieces_grow_from_one_iteration_to_two_seconds():
    assert pieces(0.01, 10**9, 1055) == [1, 2, 4, 8, 16, 32, 64, 128, 200, 200, 200, 200]


@pytest.mark.parametrize("seconds", [3.0, 1e6])
def test_pieces_have_at_least_one_iteration(seconds):
    assert pieces(seconds, 10**9, 5) == [1, 1, 1, 1, 1]


def test_short_stretches_do_not_shorten_later_pieces():
    assert pieces(0.01, 10, 50) == [1, 2, 4, 3, 10, 10, 10, 10]
    pace = Pace()
    pace.steps = 200
    pace.update(1, 0.01)
    assert pace.steps == 200


def test_pieces_after_a_long_one_are_shorter():
    pace = Pace()
    pace.steps = 200
    pace.update(200, 20.0)
    assert pace.steps == 20


@pytest.mark.parametrize(
    ("seconds", "writing", "wait"), [(20.0, 0.01, 20.0), (20.0, 3.0, 150.0), (0.0, 3.0, 0.0), (-1.0, 3.0, -1.0)]
)
def test_checkpoints_of_long_writing_times_are_rarer(monkeypatch, tmp_path, seconds, writing, wait):
    clock = [100.0]
    monkeypatch.setattr(checkpoint, "monotonic", lambda: clock[0])
    monkeypatch.setattr(checkpoint, "save_checkpoint", lambda *_: clock.append(clock.pop() + writing))
    checkpointer = Checkpointer(tmp_path / "run.npz", seconds)
    checkpointer.save({})
    clock[0] = 100 + writing + wait
    assert not checkpointer.is_due()
    clock[0] += 0.125
    assert checkpointer.is_due()


def test_boundaries_are_evaluations_and_ends_of_stages():
    stages = [{"until": until, "estimator": {"name": "cd"}, "rate": 0.1} for until in (5, 17)]
    values = {"data": {"name": "made"}, "hidden": 2, "batch": 2, "schedule": stages, "evaluate_every": 4}
    settings = loop.RunSettings(**values, evaluate_at=[1, 9, 99])
    assert loop.boundaries(settings) == [1, 4, 5, 8, 9, 12, 16, 17]
