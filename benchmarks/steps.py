"""Training steps against their matrix products, against other programs, and against each other."""

import peers
from rbmbench.training.timing import matrix_products, training_step
from timing import FLOOR, OTHER, PEER, Clock, line

__all__ = ["large_steps", "small_steps"]

LARGE = (784, 500, 500)
PRODUCTS = "its matrix products"


def large_steps(clock: Clock) -> list[dict]:
    """Compare 784 x 500 steps of CD, pop-CD and PCD with their matrix products and with peers."""
    lines = []
    for k in (1, 10):
        cd, pop_cd = (training_step(*LARGE, name, {"k": k}) for name in ("cd", "pop_cd"))
        theirs = peers.cd_steps(*LARGE, k)
        floor = matrix_products(*LARGE, k)
        ours, weighted, products, *others = clock.best(cd, pop_cd, floor, *theirs.values(), rounds=120 // k + 10)
        names = [f"{label}-{k} step, 784x500, batch 500" for label in ("CD", "pop-CD")]
        lines.append(line(names[0], ours, PRODUCTS, FLOOR, products, "<= 1.10"))
        lines.append(line(names[1], weighted, f"CD-{k} step", OTHER, ours, "<= 1.05"))
        lines.append(line(names[1], weighted, PRODUCTS, FLOOR, products))
        lines += [line(names[0], ours, peer, PEER, t, "< 1") for peer, t in zip(theirs, others, strict=True)]
    what, theirs = "PCD-1 step, 784x500, batch 500", peers.pcd_steps(*LARGE)
    pcd, floor = training_step(*LARGE, "pcd", {"k": 1}), matrix_products(*LARGE, 1)
    ours, products, *others = clock.best(pcd, floor, *theirs.values(), rounds=20)
    lines.append(line(what, ours, PRODUCTS, FLOOR, products))
    return lines + [line(what, ours, peer, PEER, t, "< 1") for peer, t in zip(theirs, others, strict=True)]


def small_steps(clock: Clock) -> list[dict]:
    """Compare 784 x 16 steps of pop-CD with those of CD, five trials at a time."""
    lines = []
    for k in (1, 10):
        cd, pop_cd = (training_step(784, 16, 500, name, {"k": k}, trials=5) for name in ("cd", "pop_cd"))
        ours, weighted = clock.best(cd, pop_cd, rounds=60 // k + 5)
        what = f"pop-CD-{k} step, 784x16, batch 500, 5 trials"
        lines.append(line(what, weighted, f"CD-{k} step", OTHER, ours, "<= 1.15"))
    return lines
