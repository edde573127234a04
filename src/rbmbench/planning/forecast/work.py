# SPDX-License-Identifier: BSD-3-Clause
"""Operation counts and memory of jobs, from their settings and sizes alone.

`SECONDS` and `MEGABYTES` hold what each counted item costs on a core of about 2.5 GHz with wide vectors; fits start
from them (see `rbmbench.planning.forecast.costs`). In all formulas m is the number of visible, n of hidden units.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rbmbench import samplers, updates
from rbmbench.base.settings import (
    AnnealingBudget,
    CertificateSettings,
    Choice,
    CouplingSettings,
    EstimateSettings,
    GroundTruthSettings,
    RunSettings,
    SamplerGrid,
    SamplingSettings,
    Stage,
)
from rbmbench.kernels.ways import AUTO, takes_tables
from rbmbench.likelihood.exact import LARGEST_ENUMERABLE_LAYER
from rbmbench.likelihood.indirect_sampling import FLIPS, STRIDE, TOGETHER
from rbmbench.measurements.sampling import ARRAYS_A_REPLICA, COUNT_BYTES
from rbmbench.training.shards import SHARD_BYTES

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

# Known only once a job has run, or the data are there: mean steps until coupled chains meet, and until herding reaches
# a fixed point; rounds that fill reservoirs of trajectory tempering, per iteration (its metric row_products has the
# number); validation rows, and as many test rows.
ASSUMED_STOPPING_TIME, ASSUMED_HERDING_STEPS, ASSUMED_FILLING, ASSUMED_ROWS = 10, 15, 0.1, 1000
LIKELIHOODS_OF_VALIDATION_ROWS = len(FLIPS) // STRIDE + 2 * STRIDE - 1  # of which the best is searched at each point
TRAJECTORY_TEMPERING = "trajectory_tempering"
THIN = 64  # units of the smaller layer up to which products count as thin
MANY = 500  # rows of products over all rows of a data set, or over successive samples

Counts = Mapping[str, float]


class Work(NamedTuple):
    """Operation counts of a job by stage (names as in `SECONDS`), and what it keeps in memory (as in `MEGABYTES`)."""

    stages: dict[str, Counts]
    memory: Counts


def training(settings: RunSettings, rows: int, m: int, stopping_time: float = ASSUMED_STOPPING_TIME) -> Work:
    """Return the work of a training run on (rows, m) data: stages startup, training and evaluation.

    ``stopping_time`` is that of coupled chains, the mean over the iterations.
    """
    n, trials = settings.hidden, settings.trials
    steps, before, left = Counter(), 0, settings.products
    for stage in settings.schedule:
        iterations: float = stage.until - before
        if left is not None:
            cost = _products_of_iteration(stage, settings, m, stopping_time)
            iterations = min(iterations, left / cost)
            left -= iterations * cost
        steps.update(_times(_iteration(stage, settings, m, stopping_time), iterations))
        steps["parameter"] += iterations * trials * m * n
        before = stage.until
    stages = {
        "startup": {"start": 1, "read entry": rows * m},
        "training": steps,
        "evaluation": _times(_one_evaluation(settings, rows, m), trials * _evaluations(settings)),
    }
    states = 16 * trials * settings.most_rows * (m + n)
    models = 8 * trials * m * n * (2 + snapshots(settings, m))
    kept = {"process": 1, "kept entry": rows * m, "byte": states + models + _enumerated_bytes(m, n)}
    return Work(stages, kept)


def ground_truth(settings: GroundTruthSettings, rows: int, m: int, n: int, trials: int) -> Work:
    """Return the work of the model expectations of ``trials`` trained models: stages startup and measuring."""
    if settings.method == "exact":
        states, larger = 2 ** min(m, n), max(m, n)
        each = {"state": states, "state unit": 3 * states * larger, "row product": 4 * states * m * n}
    else:
        each = Counter(_tempered(settings.chains * (settings.burn_in + settings.samples), m, n))
        each.update({_product(m, n, MANY): 4 * settings.samples * m * n, "unit": settings.samples * n})
    return Work(_measuring(_times(each, trials)), _measurement_memory(rows, m, n, trials, batch=1))


def estimates(settings: EstimateSettings, rows: int, m: int, n: int, trials: int) -> Work:
    """Return the work of gradient estimates of ``trials`` trained models: stages startup and measuring."""
    counts = _times(_estimate(settings.estimator, m, n, settings.batch, trials), settings.estimates)
    counts["moment"] += settings.estimates * trials * (m * n + m + n)
    counts["row entry"] += trials * rows * m
    return Work(_measuring(counts), _measurement_memory(rows, m, n, trials, settings.batch))


def annealing(settings: AnnealingBudget, run: RunSettings, rows: int, m: int) -> Work:
    """Return the work of the log-likelihoods of a run's snapshots by AIS: stages startup and measuring."""
    n, steps = run.hidden, settings.temperatures
    chains = settings.particles * steps
    each = Counter(
        {
            _product(m, n, settings.particles): 4 * chains * m * n,
            "row": chains,
            "unit": chains * (m + 2 * n),
            "call": steps,
        }
    )
    each.update(_rows(rows, m, n))
    kept = 4 * run.trials * m * n * snapshots(run, m) + 16 * run.trials * settings.particles * (m + n)
    memory = {"process": 1, "kept entry": rows * m, "byte": kept}
    return Work(_measuring(_times(each, run.trials * _evaluations(run))), memory)


def samples(
    settings: SamplingSettings, rows: int, m: int, n: int, trials: int, held_out: Mapping[str, int] | None = None
) -> Work:
    """Return the work of streams of samples of ``trials`` trained models: stages startup and measuring.

    ``held_out`` are the numbers of validation and test rows, where known.
    """
    counts, known = Counter(), held_out or {}
    validation, test = (known.get(part, ASSUMED_ROWS) for part in ("validation", "test"))
    validation, test = (min(part, settings.rows or part) for part in (validation, test))
    for grid in settings.samplers.values():
        for options, replicas in _sampled_at_once(grid, trials):
            each = _one_sample(grid.name, options, rows, m, n)
            each["counted distance"] = validation + test
            counts.update(_times(each, settings.samples * replicas))
            steps = options.get("k", 1) if "herding" not in grid.name else ASSUMED_HERDING_STEPS
            calls = 1 if grid.name == "parallel_tempering" else settings.samples * steps
            counts["call"] += calls * _shards_of_chains(m, n, replicas)
            likelihoods = (LIKELIHOODS_OF_VALIDATION_ROWS + 1) * validation + test
            counts["likelihood term"] += settings.points * replicas * likelihoods * -(-(m + 1) // TOGETHER)
    streams = trials * max(len(grid.settings) for grid in settings.samplers.values())  # of one sampler, drawn at once
    kept = 12 * streams * m * n + min(8 * streams * (validation + test) * (m + 1), COUNT_BYTES)
    memory = {"process": 1, "kept entry": rows * m, "byte": kept}
    return Work(_measuring(counts), memory)


def certificate(settings: CertificateSettings, rows: int, m: int, n: int, trials: int) -> Work:
    """Return the work of the certificates of some trained models: stages startup and measuring."""
    annealed, walked = 2 * settings.particles * settings.temperatures, 2 * settings.walkers * settings.steps
    each = Counter(_tempered(settings.chains * settings.ladder * settings.sweeps, m, n))
    each[_product(m, n, settings.particles)] += 4 * (annealed + walked) * m * n
    each["row"] += annealed + walked
    each["unit"] += annealed * (m + 2 * n) + walked * (m + n)
    each["call"] += 2 * settings.temperatures + settings.steps + settings.sweeps
    each[_dense_product(m, n)] += 2 * rows * m * (m + n)
    each.update(_rows(rows, m, n))
    memory = {"process": 1, "read entry": rows * m, "byte": 8 * rows * n + 16 * settings.walkers**2 + 16 * m * m}
    return Work(_measuring(_times(each, settings.models or trials)), memory)


def couplings(settings: CouplingSettings, steps: float = ASSUMED_STOPPING_TIME) -> Work:
    """Return the work of coupled chains of a random model: stages startup and measuring.

    ``steps`` is the mean number of steps until a pair meets.
    """
    m, n, steps = settings.visible, settings.hidden, settings.replications * steps
    counts = {"pair": steps, "pair unit": (m + n) * steps, _product(m, n, settings.replications): 2 * m * n * 2 * steps}
    return Work(_measuring(counts), {"process": 1, "byte": 16 * settings.replications * (m + n)})


def evaluation(rows: int, m: int, n: int) -> Counts:
    """Return the operations of one log-likelihood of all rows, or of a snapshot where log Z cannot be enumerated."""
    if min(m, n) > LARGEST_ENUMERABLE_LAYER:
        return {"evaluation": 1, "parameter": m * n}
    states = 2 ** min(m, n)
    enumerated = {"state": states, "state unit": states * max(m, n)}
    return enumerated | _rows(rows, m, n)


def snapshots(settings: RunSettings, m: int) -> int:
    """Return the number of snapshots that a run keeps for AIS: 0 where log Z can be enumerated."""
    return 0 if min(m, settings.hidden) <= LARGEST_ENUMERABLE_LAYER else _evaluations(settings)


def is_coupled(chosen: Choice) -> bool:
    """Return whether an estimator runs coupled chains, whose number of steps is random."""
    return chosen.name == "ucd"


def is_countable(chosen: Choice, stopping_time: float | None = None) -> bool:
    """Return whether the operations of an estimator follow from its settings, and from stopping times if known."""
    return chosen.name != TRAJECTORY_TEMPERING and (stopping_time is not None or not is_coupled(chosen))


def _sampled_at_once(grid: SamplerGrid, trials: int) -> list[tuple[dict, int]]:
    """Return the settings of a sampler that differ in more than numbers of replicas, each with its replicas."""
    of_replica = samplers.REGISTRY.get(grid.name).of_replica
    groups: dict[str, tuple[dict, int]] = {}
    for options in grid.settings:
        shared = {name: value for name, value in options.items() if name not in of_replica}
        _, known = groups.get(repr(shared), (shared, 0))
        groups[repr(shared)] = shared, known + trials
    return list(groups.values())


def _one_sample(sampler: str, options: Mapping[str, Any], rows: int, m: int, n: int) -> Counter:
    """Return the operations of one sample of a single chain, without calls."""
    if sampler == "parallel_tempering":
        return Counter(_tempered(options.get("k", 1) * options.get("temperatures", 10), m, n))
    steps = ASSUMED_HERDING_STEPS if "herding" in sampler else options.get("k", 1)
    # Where parameters move with the samples, the rates of the data are a second matrix.
    matrices = 1 if sampler in ("gibbs", "herding") else 2
    counts = Counter({"chain product": 4 * matrices * steps * m * n, "unit": steps * (m + n)})
    if sampler == "herding":
        counts["chain parameter"] += m * n
        batch = min(options.get("batch", 100), rows)
        counts[_product(m, n, batch)] += 4 * batch * m * n
    return counts


def _shards_of_chains(m: int, n: int, replicas: int) -> int:
    """Return the number of shards of replicas that streams of samples are drawn in."""
    return -(-replicas // max(1, SHARD_BYTES // (ARRAYS_A_REPLICA * 4 * m * n)))


def _iteration(stage: Stage, settings: RunSettings, m: int, stopping_time: float) -> Counter:
    """Return the operations of one iteration of all trials: its estimates, and what the update rule adds."""
    n, trials = settings.hidden, settings.trials
    estimate = _estimate(stage.estimator, m, n, settings.batch, trials, settings.precision, stopping_time)
    counts = _times(estimate, stage.update.options.get("inner_steps", 1))
    if stage.update.name == "ssd":
        counts[_dense_product(m, n)] += 60 * trials * m * n * min(m, n)
    return counts


def _products_of_iteration(stage: Stage, settings: RunSettings, m: int, stopping_time: float) -> float:
    """Return the matrix products that a budget is spent by in an iteration, as expected."""
    k = stage.estimator.options.get("k", 1)
    chains = stage.estimator.options.get("chains") or settings.batch
    exchanging = ((2 * k + 3) + ASSUMED_FILLING * (2 * k + 2)) * chains
    cost = updates.products_of(stage.estimator, stage.update, (settings.batch, m, settings.hidden))
    return cost({"stopping_time": max(stopping_time, 2), "row_products": exchanging})


def _estimate(
    chosen: Choice,
    m: int,
    n: int,
    batch: int,
    trials: int,
    precision: str = "float32",
    stopping_time: float = ASSUMED_STOPPING_TIME,
) -> Counter:
    """Return the operations of one gradient estimate of all trials."""
    k, chains = chosen.options.get("k", 1), chosen.options.get("chains") or batch
    counts = Counter({"call": (k + 2) * _shards(m, n, max(batch, chains), trials, precision)})
    if chosen.name == "exact":
        states = 2 ** min(m, n)
        counts.update({"state": trials * states, "row product": 4 * trials * states * m * n})
        return counts
    if chosen.name == "expected_cd":
        return counts + _times(_enumerated_steps(k, m, n), trials)
    rows, chains = trials * batch, trials * chains
    if "temperatures" in chosen.options or chosen.name == "parallel_tempering":
        counts.update(_tempered(rows * chosen.options.get("temperatures", 10), m, n))
        k = 0
    steps = 0
    if is_coupled(chosen):
        steps = chains * max(0, stopping_time - k)
        counts["pair"] += steps
        counts["pair unit"] += steps * (m + n)
        # Of one chain, both ways, and of the correction terms.
        counts[_product(m, n, chains // trials)] += 2 * m * n * 3 * steps
    if chosen.name == TRAJECTORY_TEMPERING:
        # Exchanges, and the share of rounds that fill reservoirs.
        counts[_product(m, n, chains // trials)] += 2 * m * n * (3 + ASSUMED_FILLING * (2 * k + 2)) * chains
        counts["row"] += (2 + ASSUMED_FILLING) * chains
        counts["unit"] += (2 + ASSUMED_FILLING) * chains * (m + n)
    counts[_product(m, n, batch)] += 2 * m * n * 2 * rows
    counts[_product(m, n, chains // trials)] += 2 * m * n * (2 * k + 1) * chains
    counts["row"] += rows + k * chains
    counts["unit"] += (rows + k * chains) * (m + n)
    if chosen.options.get("variance"):
        # Of the first chains' ends, another half step both ways; of all terms, norms and products of means and states.
        counts[_product(m, n, chains // trials)] += 2 * m * n * 2 * chains
        counts[_dense_product(m, n)] += 2 * m * n * (chains + 2 * steps)
        counts["unit"] += 3 * (m + n) * (chains + 2 * steps)
    if chosen.name.startswith("pop_cd"):
        counts["weighed unit"] += rows * (m + n)
        counts[_dense_product(m, n)] += 2 * rows * m * chosen.options.get("tau", 0)
    return counts


def _tempered(chain_steps: int, m: int, n: int) -> dict[str, float]:
    """Return the operations of Gibbs steps of single tempered chains."""
    products, units = 4 * chain_steps * m * n, chain_steps * (m + n)
    return {"tempered row": chain_steps, "tempered product": products, "tempered unit": units}


def _one_evaluation(settings: RunSettings, rows: int, m: int) -> Counter:
    """Return the operations of one evaluation of one model: likelihood, its proxy, bias of CD."""
    n, counts = settings.hidden, Counter(evaluation(rows, m, settings.hidden))
    if settings.proxy is not None:
        chains, steps = (settings.proxy.rows or rows) * settings.proxy.chains, settings.proxy.steps
        units = chains * (steps * (m + n) + m)
        counts.update({_product(m, n, chains): chains * 4 * m * n * (steps + 1), "row": chains * steps, "unit": units})
    if settings.bias_bound is not None:
        k = settings.bias_bound.k or settings.schedule[-1].estimator.options.get("k", 1)
        counts.update(_enumerated_steps(k, m, n))
    return counts


def _enumerated_steps(k: int, m: int, n: int) -> dict[str, float]:
    """Return the operations of k Gibbs steps of a distribution over all states, tables of conditionals included."""
    entries = 2**m * 2 ** (n / 2) + 2**n * 2 ** (m / 2)
    return {_dense_product(m, n): 4 * k * 2 ** (m + n), "unit": (8 + k) * entries}


def _measuring(counts: Counts) -> dict[str, Counts]:
    """Return the stages of a measurement of trained models."""
    return {"startup": {"start": 1}, "measuring": counts | {"first call": 1}}


def _measurement_memory(rows: int, m: int, n: int, trials: int, batch: int) -> Counts:
    """Return what a ground truth or a series of estimates keeps: mostly three copies of float64 means of 20 blocks."""
    kept = 16 * trials * batch * (m + n) + 8 * 60 * trials * m * n + _enumerated_bytes(m, n)
    return {"process": 1, "read entry": rows * m, "byte": kept}


def _enumerated_bytes(m: int, n: int) -> int:
    """Return the bytes of the log weights of all states of the smaller layer, 0 where they are not enumerated."""
    small = min(m, n)
    return 24 * 2**small if small <= LARGEST_ENUMERABLE_LAYER else 0


def with_dense_products(work: Work, m: int, n: int) -> Work:
    """Return the work of a job made before products with binary states had ways of their own."""
    stages = {}
    for name, counts in work.stages.items():
        stages[name] = found = Counter()
        for kind, count in counts.items():
            if kind == "binary row product":
                found.update({"row product": count, "row entry": count / (2 * n)})
            elif kind == "counted distance":
                found["distance"] += count * m
            else:
                found[kind.replace("binary product", "product")] += count
    return work._replace(stages=stages)


def _rows(rows: int, m: int, n: int) -> Counts:
    """Return the operations of the log-likelihood of rows, given log Z."""
    if takes_tables(AUTO, MANY, m, n):
        return {"binary row product": 2 * rows * m * n, "evaluation": 1}
    return {"row entry": rows * m, "row product": 2 * rows * m * n, "evaluation": 1}


def _product(m: int, n: int, rows: int) -> str:
    """Return the kind of the matrix products of an RBM with rows of binary states."""
    dense = _dense_product(m, n)
    return dense.replace("product", "binary product") if takes_tables(AUTO, rows, m, n) else dense


def _dense_product(m: int, n: int) -> str:
    return "thin product" if min(m, n) <= THIN else "product"


def _evaluations(settings: RunSettings) -> int:
    """Return how often a run is evaluated: before the first iteration, at every interval, and at the end."""
    further = len(settings.evaluate_at) + len(settings.evaluate_at_products)
    return 1 + -(-settings.iterations // settings.evaluate_every) + further


def _shards(m: int, n: int, rows: int, trials: int, precision: str) -> int:
    """Return the number of shards of a run's trials on one thread."""
    trial_bytes = 3 * rows * (m + n) * np.dtype(precision).itemsize
    return -(-trials // max(1, min(SHARD_BYTES // trial_bytes, trials)))


def _times(counts: Counts, number: float) -> Counter:
    """Return counts multiplied by a number."""
    return Counter({name: number * count for name, count in counts.items()})
