# SPDX-License-Identifier: BSD-3-Clause
"""Samples of chains, tempered chains and indirect likelihoods against their matrix products, and of rates-FPCD."""

from collections.abc import Callable
from functools import partial

import numpy as np

from rbmbench import samplers
from rbmbench.base.streams import Purpose, Stream
from rbmbench.likelihood import IndirectSampling
from rbmbench.model.rbm import initial_rbm
from rbmbench.training.timing import made_data, training_step
from timing import DENSE, FLOOR, OTHER, Clock, line

SIZES = (256, 200), (784, 500)
CHAINS = 1, 100
TEMPERED_SIZES, TEMPERATURES = ((784, 16), (784, 500)), 10
COUNT = 50  # few, so that some calls are not disturbed by other load
SWEEPS = 200  # of tempered chains; an estimate takes as many as the mini-batch has rows
BATCH = 500
# About one unit in five is on, as in models of digits.
LOGITS = -1.4, -1.4


def drawing(
    name: str, visible: int, hidden: int, chains: int, count: int = COUNT, logits: tuple = (0, 0), **options
) -> Callable[[], None]:
    """Return a function that draws samples of each chain of a random model, with the biases ``logits``."""
    rbm, stream = (
        initial_rbm(visible, hidden, Stream(0, [0]), kind="normal", width=0.05),
        Stream(1, [0], Purpose.SAMPLES),
    )
    for bias, logit in zip((rbm.b, rbm.c), logits, strict=True):
        bias += logit
    sampler = samplers.create(name, **options)
    state = sampler.start(rbm, made_data(1000, visible), chains, stream)
    out = np.empty((1, chains, count, visible), np.uint8)

    def draw():
        sampler.draw(rbm, state, stream, out)

    draw.steps = count
    return draw


def matrices(visible: int, hidden: int, rows: int) -> tuple[np.ndarray, ...]:
    """Return rows and hidden states of a step, W and its transpose, float32."""
    W = np.random.default_rng(2).normal(0, 0.05, (visible, hidden)).astype(np.float32)
    states = (made_data(rows, units).astype(np.float32) for units in (visible, hidden))
    return *states, W, np.ascontiguousarray(W.T)


def two_products(rows, states, W, transposed) -> None:
    """Multiply as a Gibbs step does."""
    np.matmul(rows, W)
    np.matmul(states, transposed)


def samples(clock: Clock) -> list[dict]:
    """Compare samples of rates-FPCD with those of Gibbs sampling, and these with their matrix products."""
    lines = []
    for (visible, hidden), chains in ((size, chains) for size in SIZES for chains in CHAINS):
        rates, gibbs = (drawing(name, visible, hidden, chains, logits=LOGITS) for name in ("rates_fpcd", "gibbs"))
        products = partial(two_products, *matrices(visible, hidden, chains))
        ours, theirs, floor = clock.best(rates, gibbs, products, rounds=500 if chains == 1 else 50)
        label = f"{visible}x{hidden}, {chains} chain{'s' * (chains > 1)}"
        lines.append(line(f"rates-FPCD sample, {label}", ours, "Gibbs sample", OTHER, theirs, "<= 1.50"))
        lines.append(line(f"Gibbs sample, {label}", theirs, "its two matrix products", FLOOR, floor))
    return lines


def tempered_sweeps(clock: Clock) -> list[dict]:
    """Compare sweeps of one set of tempered chains with their two matrix products, and with a CD-1 step."""
    lines = []
    for visible, hidden in TEMPERED_SIZES:
        sweeps = drawing("parallel_tempering", visible, hidden, 1, SWEEPS, temperatures=TEMPERATURES)
        products = partial(two_products, *matrices(visible, hidden, TEMPERATURES))
        step = training_step(visible, hidden, BATCH, "cd", {"k": 1})
        ours, floor, step_seconds = clock.best(sweeps, products, step, rounds=200)
        label = f"PT sweep of {TEMPERATURES} chains, {visible}x{hidden}"
        lines.append(line(label, ours, "its two matrix products", FLOOR, floor))
        row_label = f"{BATCH} sweeps, {visible}x{hidden}, for one temperature"
        lines.append(line(row_label, ours * BATCH / TEMPERATURES, f"CD-1 step, batch {BATCH}", OTHER, step_seconds))
    return lines


def indirect_likelihoods(clock: Clock) -> list[dict]:
    """Compare the indirect sampling likelihood of USPS-sized rows with its matrix products."""
    rows, drawn = made_data(2007, 256), made_data(20_000, 256)[None]
    likelihood, floats = IndirectSampling(rows), (rows.astype(np.float32), drawn[0].T.astype(np.float32))
    ours, floor = clock.best(lambda: likelihood.add(drawn), lambda: np.matmul(*floats), rounds=8)
    label = "Indirect sampling likelihood, 20 000 samples, 2007 rows of 256"
    return [line(label, ours, DENSE, FLOOR, floor, "<= 0.10")]
