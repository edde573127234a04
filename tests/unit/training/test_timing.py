# SPDX-License-Identifier: BSD-3-Clause
from rbmbench.training.timing import best_seconds


def test_a_step_and_its_products_are_timed():
    calls = []
    times = best_seconds(lambda: calls.append("step"), lambda: calls.append("products"), seconds=0.01)
    assert calls[:4] == ["step", "products"] * 2
    assert all(0 <= seconds < float("inf") for seconds in times)
