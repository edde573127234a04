# SPDX-License-Identifier: BSD-3-Clause
"""Training steps against their matrix products, dense and binary, against other programs, and against each other."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

import peers
from rbmbench.kernels import kernels_for
from rbmbench.kernels.threads import threads_of_rows
from rbmbench.training.timing import training_step
from timing import BINARY, DENSE, FLOOR, OTHER, PEER, PRODUCTS, Clock, in_way, line, matrix_products, within

LARGE = (784, 500, 500)
MANY_STEPS = (784, 500, 200)  # CD-24 of Upadhya and Sastry
SMALL, TRIALS = (784, 16, 500), 5
DIGITS, DIGITS_TRIALS = (128, 100, 246), 10


def floors(visible, hidden, batch, k, trials=1):
    """Return the dense and the binary matrix products of a CD-k step."""
    multiply = kernels_for(np.empty(0)).multiply_binary
    return [matrix_products(visible, hidden, batch, k, trials, multiply=product) for product in (np.matmul, multiply)]


def large_steps(clock: Clock) -> list[dict]:
    """Compare 784 x 500 steps of CD, pop-CD and PCD with their matrix products and with peers."""
    steps = [
        ("CD-1", LARGE, "cd", 1, "<= 0.60"),
        ("CD-10", LARGE, "cd", 10, "<= 0.55"),
        ("pop-CD-1", LARGE, "pop_cd", 1, ""),
        ("pop-CD-10", LARGE, "pop_cd", 10, "<= 0.58"),
        ("PCD-1", LARGE, "pcd", 1, ""),
        ("CD-24", MANY_STEPS, "cd", 24, "<= 0.60"),
    ]
    lines = []
    for name, size, estimator, k, aim in steps:
        theirs = {}
        if size is LARGE and estimator != "pop_cd":
            theirs = peers.pcd_steps(*size) if estimator == "pcd" else peers.cd_steps(*size, k)
        step = training_step(*size, estimator, {"k": k})
        ours, dense, binary, *peer_seconds = clock.best(step, *floors(*size, k), *theirs.values(), rounds=120 // k + 10)
        label = f"{name} step, 784x500, batch {size[2]}"
        lines += [line(label, ours, DENSE, FLOOR, dense, aim), line(label, ours, BINARY, PRODUCTS, binary)]
        lines += [line(label, ours, peer, PEER, t, "< 1") for peer, t in zip(theirs, peer_seconds, strict=True)]
    return lines


def small_steps(clock: Clock) -> list[dict]:
    """Compare 784 x 16 and 128 x 100 steps of CD with their matrix products, and those of pop-CD with CD."""
    lines = []
    for k in (1, 10):
        step, products = training_step(*DIGITS, "cd", {"k": k}, trials=DIGITS_TRIALS), floors(*DIGITS, k, DIGITS_TRIALS)
        ours, dense, binary = clock.best(step, *products, rounds=60 // k + 5)
        label = f"CD-{k} step, 128x100, batch {DIGITS[2]}, {DIGITS_TRIALS} trials"
        lines += [line(label, ours, DENSE, FLOOR, dense), line(label, ours, BINARY, PRODUCTS, binary)]
    for k, aim in ((1, ""), (10, "<= 1.50")):
        cd, pop_cd = (training_step(*SMALL, name, {"k": k}, trials=TRIALS) for name in ("cd", "pop_cd"))
        ours, weighted, dense, binary = clock.best(cd, pop_cd, *floors(*SMALL, k, TRIALS), rounds=60 // k + 5)
        label = f"CD-{k} step, 784x16, batch 500, 5 trials"
        lines += [line(label, ours, DENSE, FLOOR, dense, aim), line(label, ours, BINARY, PRODUCTS, binary)]
        lines.append(line(f"pop-{label}", weighted, f"CD-{k} step", OTHER, ours, "<= 1.15"))
    return lines


def threads_of_a_trial(clock: Clock) -> list[dict]:
    """Compare steps of one trial on two threads with those on one; needs two idle cores and elapsed time."""
    lines = []
    for name, estimator, k in (("CD-1", "cd", 1), ("CD-10", "cd", 10), ("pop-CD-10", "pop_cd", 10)):
        step = training_step(*LARGE, estimator, {"k": k})
        with ThreadPoolExecutor(2) as executor:
            on_two = within(partial(threads_of_rows, executor, 2), step)
            one, two = clock.best(step, on_two, rounds=120 // k + 10)
        lines.append(line(f"{name} step on two threads, 784x500, batch 500", two, "one thread", OTHER, one))
    return lines


def ways_of_products(clock: Clock) -> list[dict]:
    """Compare the ways to make the products of a step, and a step made with each."""
    lines = []
    for name, size in (("784x500, batch 500", LARGE), ("784x500, batch 200", MANY_STEPS), ("784x16, batch 500", SMALL)):
        products, step = floors(*size, 1)[1], training_step(*size, "cd", {"k": 1})
        for label, function in ((f"Products of a CD-1 step, {name}", products), (f"CD-1 step, {name}", step)):
            library, tables = clock.best(in_way("library", function), in_way("tables", function), rounds=60)
            lines.append(line(f"{label}, by tables", tables, "the same by the library's products", OTHER, library))
    return lines
