"""Training steps against their matrix products, against other programs, and against each other."""

from collections.abc import Callable

import numpy as np

import peers
from rbmbench.model import initial_rbm
from rbmbench.settings import RunSettings, parse
from rbmbench.shards import make_shards
from rbmbench.streams import Purpose, Stream
from timing import FLOOR, OTHER, PEER, Clock, line, made_data

__all__ = ["large_steps", "matrix_products", "small_steps", "training_step"]

STEPS = 3  # iterations a call: a run's shards make many before they halt
LARGE = (784, 500, 500)
PRODUCTS = "its matrix products"


def training_step(
    visible,
    hidden,
    batch,
    estimator,
    options,
    trials=1,
    rows=10_000,
    place=lambda array: array,
    steps=STEPS,
    update=None,
) -> Callable[[], object]:
    """Return a function that makes training iterations of ``trials`` RBMs as a run does, evaluation apart.

    ``place`` puts an array where the steps are to be made, such as a GPU; ``steps`` are made in one call. ``update`` is
    the update rule with its options.
    """
    stage = {"until": 10**9, "estimator": {"name": estimator, "options": options}, "rate": 0.01}
    stage["update"] = update or {"name": "sgd"}
    values = {"data": {"name": "made"}, "hidden": hidden, "batch": batch, "schedule": [stage], "trials": trials}
    settings = parse(RunSettings, values, "benchmark")
    rbm = initial_rbm(visible, hidden, Stream(0, range(trials), Purpose.INITIAL_PARAMETERS))
    rbm = type(rbm)(*(place(parameter) for parameter in (rbm.W, rbm.b, rbm.c)))
    shards = make_shards(rbm, place(made_data(rows, visible)), settings, threads=1)
    for shard in shards:
        shard.enter(settings.schedule[0], start=True)
    iteration = iter(range(10**9))

    def step():
        at = next(iteration)
        for shard in shards:
            shard.advance(at * steps, (at + 1) * steps)

    step.steps = steps
    return step


def matrix_products(visible, hidden, batch, k, place=lambda array: array) -> Callable[[], object]:
    """Return the matrix products of one CD-k step: 2 k + 1 for the chain and the means, 2 for the statistics."""
    rng = np.random.default_rng(1)
    v = place((rng.random((batch, visible)) < 0.13).astype(np.float32))
    h = place((rng.random((batch, hidden)) < 0.5).astype(np.float32))
    W = place(rng.normal(0, 0.1, (visible, hidden)).astype(np.float32))
    v_W, h_W, statistics = v @ W, h @ W.T, v.T @ h

    def products():
        for _ in range(k):
            np.matmul(v, W, out=v_W)
            np.matmul(h, W.T, out=h_W)
        np.matmul(v, W, out=v_W)
        np.matmul(v.T, h, out=statistics)
        np.matmul(v.T, h, out=statistics)

    return products


def large_steps(clock: Clock) -> list[dict]:
    """Compare 784 x 500 steps of CD, pop-CD and PCD with their matrix products and with the peers' steps."""
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
