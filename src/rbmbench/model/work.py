# SPDX-License-Identifier: BSD-3-Clause
"""Operation counts of computations, for forecasts, and the cost of each counted item.

`SECONDS` and `MEGABYTES` hold the cost of each counted item on a core of about 2.5 GHz with wide vectors; fits start
from them (see `rbmbench.planning.forecast.costs`). In all formulas m is the number of visible, n of hidden units.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from rbmbench.kernels.ways import AUTO, takes_tables

SECONDS = {
    "start": 2.0,  # of a process: imports, compiled kernels
    "first call": 0.8,  # of the kernels of a measurement
    "read entry": 5e-8,  # of the training rows
    "product": 1e-11,  # floating point operation of a dense matrix product
    "thin product": 2.5e-11,  # the same, limited by memory bandwidth because one layer is small
    "binary product": 5e-12,  # of a product with binary states by tables, as operations of the dense one
    "thin binary product": 1.2e-11,
    "row": 2e-8,  # of a mini-batch, per step
    "unit": 1e-9,  # sampled, or its mean computed
    "weighed unit": 1e-9,  # in the weights of a population
    "parameter": 1e-9,  # updated
    "call": 1e-5,  # of a step, per shard
    "tempered row": 1e-7,  # step of one tempered chain, with swaps
    "tempered product": 3e-11,  # floating point operation in the kernel of tempered chains
    "tempered unit": 1e-9,
    "state": 2e-8,  # enumerated, of the smaller layer
    "state unit": 3e-10,  # of the larger layer, per enumerated state
    "row entry": 3e-9,  # of the data, per evaluated likelihood
    "row product": 3e-11,
    "binary row product": 1e-11,  # by tables, of rows packed once
    "evaluation": 1e-4,
    "moment": 1e-7,  # of one parameter over the estimates
    "pair": 4e-7,  # step of one pair of coupled chains, without products and units
    "chain product": 5e-11,  # floating point operation of the products of a single chain
    "chain parameter": 1e-10,  # updated after every sample
    "distance": 5e-11,  # of one unit between a sample and a row, by dense products
    "counted distance": 2e-9,  # between a sample and a row
    "likelihood term": 5e-8,  # sum of powers over some distances of a row, for the likelihood of samples
    "pair unit": 8e-9,  # of coupled chains, per step
}
MEGABYTES = {
    "process": 270.0,
    "kept entry": 1e-5,  # of the training rows during training, with their distinct rows
    "read entry": 2.5e-6,
    "byte": 1.5 / 2**20,
}

THIN = 64  # units of the smaller layer up to which products count as thin

ASSUMED_STOPPING_TIME = 10  # mean steps until coupled chains meet, where no run is recorded

Counts = Mapping[str, float]


class Work(NamedTuple):
    """Operation counts of a job by stage (names as in `SECONDS`), and of its memory (as in `MEGABYTES`)."""

    stages: dict[str, Counts]
    memory: Counts


def default_seconds(work: Work) -> float:
    """Return the processor seconds of a job by the costs of `SECONDS`: the same on every machine."""
    return sum(SECONDS[name] * count for counts in work.stages.values() for name, count in counts.items())


def times(counts: Counts, number: float) -> Counter:
    """Return counts multiplied by a number."""
    return Counter({name: number * count for name, count in counts.items()})


def product(m: int, n: int, rows: int) -> str:
    """Return the item of the matrix products of an RBM with rows of binary states."""
    dense = dense_product(m, n)
    return dense.replace("product", "binary product") if takes_tables(AUTO, rows, m, n) else dense


def dense_product(m: int, n: int) -> str:
    """Return the item of dense matrix products of an RBM."""
    return "thin product" if min(m, n) <= THIN else "product"


def tempered(chain_steps: int, m: int, n: int) -> Counter:
    """Return the operations of Gibbs steps of single tempered chains."""
    products, units = 4 * chain_steps * m * n, chain_steps * (m + n)
    return Counter({"tempered row": chain_steps, "tempered product": products, "tempered unit": units})


def enumerated_steps(k: int, m: int, n: int) -> Counter:
    """Return the operations of k Gibbs steps of a distribution over all states, tables of conditionals included."""
    entries = 2**m * 2 ** (n / 2) + 2**n * 2 ** (m / 2)
    return Counter({dense_product(m, n): 4 * k * 2 ** (m + n), "unit": (8 + k) * entries})
