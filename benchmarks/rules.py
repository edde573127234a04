# SPDX-License-Identifier: BSD-3-Clause
"""Iterations of update rules against plain ascent, in processor time, which depends less on other load."""

from collections.abc import Callable
from time import process_time

from rbmbench.training.timing import training_step
from timing import DENSE, FLOOR, OTHER, Clock, line, matrix_products

SIZES = (784, 500, 200)
GIBBS_STEPS = 24


def step(rule: str, k: int, **options) -> Callable[[], object]:
    """Return a function that makes one iteration of CD-k chains and an update rule."""
    update = {"name": rule, "options": options}
    return training_step(*SIZES, "cd", {"k": k}, steps=1, update=update)


def update_rules(clock: Clock) -> list[dict]:
    """Compare S-DCP, CS-DCP, the centered gradient and spectral descent with CD with as many Gibbs steps.

    S-DCP 6x4 also makes five products to start again under new parameters, and five more for statistics: 61 for 51. It
    is compared with these as well, which are those of CD-24 and of two steps of CD-1.
    """
    rules = {
        "S-DCP 6x4": step("sdcp", 4, inner_steps=6),
        "S-DCP 2x12": step("sdcp", 12, inner_steps=2),
        "CS-DCP 6x4": step("cs_dcp", 4, inner_steps=6),
        "CG-24": step("centered", GIBBS_STEPS),
        "SSD-24": step("ssd", GIBBS_STEPS),
    }
    processor = Clock(clock.most_rounds, process_time)
    floor = matrix_products(*SIZES, GIBBS_STEPS), matrix_products(*SIZES, 1), matrix_products(*SIZES, 1)

    def products_of_sdcp():
        for products in floor:
            products()

    steps = step("sgd", GIBBS_STEPS), products_of_sdcp, *rules.values()
    plain, products, *seconds_of_rules = processor.best(*steps, rounds=20)
    sdcp = line("S-DCP 6x4 step, 784x500, batch 200", seconds_of_rules[0], DENSE, FLOOR, products, "<= 0.60")
    return [sdcp] + [
        line(f"{name} step, 784x500, batch 200", seconds, f"CD-{GIBBS_STEPS} step", OTHER, plain)
        for name, seconds in zip(rules, seconds_of_rules, strict=True)
    ]
