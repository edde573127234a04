# SPDX-License-Identifier: BSD-3-Clause
from collections import Counter
from functools import partial
from itertools import permutations
from types import SimpleNamespace

import pytest
from core_helpers import binary_data

from rbmbench.model.minibatches import MiniBatches
from rbmbench.training import timing
from rbmbench.training.timing import Steps, iterations_within, one_round, step_settings


class Recorded:
    """Iterations that record their calls in place of training."""

    def __init__(self, calls, name):
        self.calls, self.name = calls, name

    def advance(self, iterations):
        self.calls.append((self.name, iterations))

    def seconds(self, iterations):
        self.advance(iterations)
        return 1.0


def test_rounds_balance_the_order_of_algorithms():
    counts, before, first = {"a": 7, "b": 3, "c": 5}, Counter(), Counter()
    for number in range(12):
        calls = []
        seconds = one_round({name: partial(Recorded, calls, name) for name in counts}, counts, number)
        assert seconds.keys() == counts.keys()
        order = [name for name, _ in calls[:3]]
        assert calls == [(name, 1) for name in order] + [(name, counts[name]) for name in order]
        first[order[0]] += 1
        before.update((earlier, other) for place, earlier in enumerate(order) for other in order[place + 1 :])
    assert all(before[pair] == 6 for pair in permutations(counts, 2))
    assert set(first.values()) == {4}


def test_iterations_within_a_time_are_estimated(monkeypatch):
    # An iteration takes 3 s of a simulated clock.
    clock = [0.0]
    monkeypatch.setattr(timing, "process_time", lambda: clock[0])
    steps = SimpleNamespace(advance=lambda iterations: clock.append(clock.pop() + 3.0 * iterations))
    assert [iterations_within(steps, seconds) for seconds in (1e-9, 3.0, 600.0)] == [1, 1, 200]


@pytest.mark.parametrize("iterations", [2, 7, 13])
def test_seconds_of_an_iteration_include_its_share_of_an_epoch(monkeypatch, iterations):
    # An epoch has five iterations; its order takes 40 s and an iteration 3 s of a simulated clock.
    clock, steps = [0.0], Steps(step_settings(hidden=3, batch=5), binary_data(29, 7))
    monkeypatch.setattr(timing, "process_time", lambda: clock[0])
    draw, at = MiniBatches.draw, MiniBatches.at

    def drawn(self, epoch):
        clock[0] += 40.0 * (epoch != self._epoch)
        draw(self, epoch)

    def mini_batch(self, iteration):
        clock[0] += 3.0
        return at(self, iteration)

    monkeypatch.setattr(MiniBatches, "draw", drawn)
    monkeypatch.setattr(MiniBatches, "at", mini_batch)
    steps.advance(1)
    assert steps.seconds(iterations) == pytest.approx(3.0 + 40.0 / 5)
