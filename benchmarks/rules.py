"""Iterations of update rules against plain ascent, in processor time, which depends less on other load."""

from collections.abc import Callable
from time import process_time

from rbmbench.training.timing import training_step
from timing import OTHER, Clock, line

__all__ = ["update_rules"]

SIZES = (784, 500, 200)
GIBBS_STEPS = 24


def step(rule: str, k: int, **options) -> Callable[[], object]:
    """Return a function that makes one iteration of CD-k chains and an update rule."""
    update = {"name": rule, "options": options}
    return training_step(*SIZES, "cd", {"k": k}, steps=1, update=update)


def update_rules(clock: Clock) -> list[dict]:
    """Compare S-DCP, CS-DCP, the centered gradient and spectral descent with CD with as many Gibbs steps."""
    parts = {
        "S-DCP 6x4": (step("sdcp", 4, inner_steps=6), "<= 1.10"),
        "S-DCP 2x12": (step("sdcp", 12, inner_steps=2), "<= 1.10"),
        "CS-DCP 6x4": (step("cs_dcp", 4, inner_steps=6), ""),
        "CG-24": (step("centered", GIBBS_STEPS), ""),
        "SSD-24": (step("ssd", GIBBS_STEPS), ""),
    }
    processor = Clock(clock.most_rounds, process_time)
    plain, *others = processor.best(step("sgd", GIBBS_STEPS), *(part for part, _ in parts.values()), rounds=20)
    return [
        line(f"{name} step, 784x500, batch 200", seconds, f"CD-{GIBBS_STEPS} step", OTHER, plain, aim)
        for (name, (_, aim)), seconds in zip(parts.items(), others, strict=True)
    ]
