"""How much elementary work a job is: counts of operations, by stage, from its settings and sizes alone.

`SECONDS` holds what one operation of each kind takes on a core of about 2.5 GHz with wide vectors, and `MEGABYTES` what
one thing that is kept needs. They are where every fit starts from; see `rbmbench.planning.forecast.model`.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from rbmbench.base.settings import Choice, EstimateSettings, GroundTruthSettings, Proxy, RunSettings
from rbmbench.likelihood.exact import LARGEST_ENUMERABLE_LAYER
from rbmbench.training.shards import SHARD_BYTES

__all__ = [
    "ASSUMED_STOPPING_TIME",
    "MEGABYTES",
    "SECONDS",
    "Counts",
    "Stages",
    "annealing",
    "estimates",
    "evaluation",
    "ground_truth",
    "is_coupled",
    "memory_of_annealing",
    "memory_of_measurement",
    "memory_of_run",
    "snapshots",
    "training",
]

SECONDS = {
    "start": 2.0,  # a process, its imports and its compiled kernels
    "first call": 0.3,  # of the kernels of a measurement
    "read entry": 5e-8,  # of the data, made ready for training
    "product": 1e-11,  # a floating point operation of a matrix product
    "thin product": 2.5e-11,  # the same where one layer is small, which leaves the processor waiting for memory
    "row": 2e-8,  # of a mini-batch, in each step
    "unit": 1e-9,  # sampled, or its mean
    "weighed unit": 1e-9,  # of a population's weights
    "parameter": 1e-9,  # updated
    "call": 1e-5,  # of a step, for each shard
    "tempered row": 1e-7,  # a step of one tempered chain, swaps included
    "tempered product": 1e-10,  # the same as product, in the kernel of tempered chains
    "tempered unit": 1e-9,
    "state": 2e-8,  # of the smaller layer, enumerated
    "state unit": 3e-10,  # of the larger layer, for each enumerated state
    "row entry": 3e-9,  # of the data, when a likelihood is evaluated
    "row product": 3e-11,
    "evaluation": 1e-4,
    "moment": 1e-7,  # of a parameter, in the moments of estimates
    "pair": 4e-7,  # a step of one pair of coupled chains, its products apart
}
MEGABYTES = {
    "process": 270.0,
    "kept entry": 1e-5,  # of the data, in training: with their distinct rows
    "read entry": 2.5e-6,
    "byte": 1.5 / 2**20,
}

ASSUMED_STOPPING_TIME = 10
"""Steps after which coupled chains are taken to meet, on average: what they take is not known before they run."""

THIN = 64
"""Most units that the smaller layer has where matrix products are thin."""

Counts = Mapping[str, float]
Stages = dict[str, Counts]


def training(settings: RunSettings, rows: int, visible: int) -> Stages:
    """Return the operations of a training run by its stages: startup, training, evaluation.

    Parameters
    ----------
    settings : RunSettings
    rows, visible : int
        Size of the training set, and m.
    """
    m, n, trials = visible, settings.hidden, settings.trials
    steps, before = Counter(), 0
    for stage in settings.schedule:
        step = _estimate(stage.estimator, m, n, settings.batch, trials, settings.precision)
        step = _updated(step, stage.update, trials, m, n)
        steps.update(_times(step, stage.until - before))
        before = stage.until
    steps["parameter"] += settings.iterations * trials * m * n
    return {
        "startup": {"start": 1, "read entry": rows * m},
        "training": steps,
        "evaluation": _times(
            Counter(evaluation(rows, m, n)) + _proxy(settings.proxy, rows, m, n) + _bias_bound(settings, m, n),
            trials * _evaluations(settings),
        ),
    }


def ground_truth(settings: GroundTruthSettings, rows: int, visible: int, hidden: int, trials: int) -> Stages:
    """Return the operations of the model expectations of so many trained models by stages: startup, measuring."""
    m, n = visible, hidden
    if settings.method == "exact":
        states, larger = 2 ** min(m, n), max(m, n)
        work = {"state": states, "state unit": 3 * states * larger, "row product": 4 * states * m * n}
    else:
        sweeps = settings.burn_in + settings.samples
        work = Counter(_tempered(settings.chains * sweeps, m, n))
        work.update({_product(m, n): 4 * settings.samples * m * n, "unit": settings.samples * n})
    return {"startup": {"start": 1}, "measuring": _times(work, trials) | {"first call": 1}}


def estimates(settings: EstimateSettings, rows: int, visible: int, hidden: int, trials: int) -> Stages:
    """Return the operations of gradient estimates of so many trained models by stages: startup, measuring."""
    m, n = visible, hidden
    work = Counter(_times(_estimate(settings.estimator, m, n, settings.batch, trials), settings.estimates))
    work["moment"] += settings.estimates * trials * (m * n + m + n)
    work["row entry"] += trials * rows * m
    return {"startup": {"start": 1}, "measuring": work | {"first call": 1}}


def annealing(settings: Any, run: RunSettings, rows: int, visible: int) -> Stages:
    """Return the operations of the log-likelihoods of a run's snapshots by AIS, by stages: startup, measuring.

    ``settings`` has the attributes particles and temperatures.
    """
    m, n, steps = visible, run.hidden, settings.temperatures
    chains = settings.particles * steps
    work = Counter({_product(m, n): 4 * chains * m * n, "row": chains, "unit": chains * (m + 2 * n), "call": steps})
    work.update({"row entry": rows * m, "row product": 2 * rows * m * n, "evaluation": 1})
    return {"startup": {"start": 1}, "measuring": _times(work, run.trials * _evaluations(run)) | {"first call": 1}}


def memory_of_run(settings: RunSettings, rows: int, visible: int) -> Counts:
    """Return what a training run keeps in memory: data, states, models, and snapshots of models that are too large."""
    m, n, trials = visible, settings.hidden, settings.trials
    states = 16 * trials * settings.most_rows * (m + n)
    models = 8 * trials * m * n * (2 + snapshots(settings, m))
    return {"process": 1, "kept entry": rows * m, "byte": states + models + _enumerated_bytes(m, n)}


def memory_of_measurement(rows: int, visible: int, hidden: int, trials: int, batch: int) -> Counts:
    """Return what a ground truth or a series of estimates keeps: with the float64 means of 20 blocks, thrice."""
    states, means = 16 * trials * batch * (visible + hidden), 8 * 60 * trials * visible * hidden
    kept = states + means + _enumerated_bytes(visible, hidden)
    return {"process": 1, "read entry": rows * visible, "byte": kept}


def memory_of_annealing(settings: Any, run: RunSettings, rows: int, visible: int) -> Counts:
    """Return what the annealing of a run's snapshots keeps: these, and its particles."""
    m, n = visible, run.hidden
    kept = 4 * run.trials * m * n * snapshots(run, m) + 16 * run.trials * settings.particles * (m + n)
    return {"process": 1, "kept entry": rows * m, "byte": kept}


def snapshots(settings: RunSettings, visible: int) -> int:
    """Return how many snapshots a run keeps to be evaluated later: none where log Z can be enumerated."""
    return 0 if min(visible, settings.hidden) <= LARGEST_ENUMERABLE_LAYER else _evaluations(settings)


def _enumerated_bytes(visible: int, hidden: int) -> int:
    """Return the bytes of the log weights of all states of the smaller layer, 0 where they are too many."""
    small = min(visible, hidden)
    return 24 * 2**small if small <= LARGEST_ENUMERABLE_LAYER else 0


def _estimate(
    chosen: Choice, visible: int, hidden: int, batch: int, trials: int, precision: str = "float32"
) -> Counter:
    """Return the operations of one gradient estimate of all trials."""
    m, n = visible, hidden
    k, chains = chosen.options.get("k", 1), chosen.options.get("chains") or batch
    work = Counter({"call": (k + 2) * _shards(m, n, max(batch, chains), trials, precision)})
    if chosen.name == "exact":
        states = 2 ** min(m, n)
        work.update({"state": trials * states, "row product": 4 * trials * states * m * n})
        return work
    if chosen.name == "expected_cd":
        return work + _times(_enumerated_steps(k, m, n), trials)
    rows, chains = trials * batch, trials * chains
    if "temperatures" in chosen.options or chosen.name == "parallel_tempering":
        work.update(_tempered(rows * chosen.options.get("temperatures", 10), m, n))
        k = 0
    if is_coupled(chosen):
        steps = chains * max(0, ASSUMED_STOPPING_TIME - k)
        work["pair"] += steps
        work[_product(m, n)] += 2 * m * n * 3 * steps  # of one chain, both ways, and of their terms
    work[_product(m, n)] += 2 * m * n * (2 * rows + (2 * k + 1) * chains)
    work["row"] += rows + k * chains
    work["unit"] += (rows + k * chains) * (m + n)
    if chosen.name.startswith("pop_cd"):
        work["weighed unit"] += rows * (m + n)
        work[_product(m, n)] += 2 * rows * m * chosen.options.get("tau", 0)
    return work


def _updated(estimate: Counter, update: Choice, trials: int, visible: int, hidden: int) -> Counter:
    """Return the operations of an iteration of all trials, from those of one estimate: what the update rule adds."""
    step = _times(estimate, update.options.get("inner_steps", 1))
    if update.name == "ssd":
        step[_product(visible, hidden)] += 60 * trials * visible * hidden * min(visible, hidden)
    return step


def is_coupled(chosen: Choice) -> bool:
    """Return whether an estimator runs coupled chains, whose number of steps is up to chance."""
    return chosen.name == "ucd"


def _product(visible: int, hidden: int) -> str:
    """Return which kind of product those of an RBM are."""
    return "thin product" if min(visible, hidden) <= THIN else "product"


def _tempered(chain_steps: int, visible: int, hidden: int) -> dict[str, float]:
    """Return the operations of so many Gibbs steps of single tempered chains."""
    return {
        "tempered row": chain_steps,
        "tempered product": 4 * chain_steps * visible * hidden,
        "tempered unit": chain_steps * (visible + hidden),
    }


def evaluation(rows: int, visible: int, hidden: int) -> Counts:
    """Return the operations of one log-likelihood of all rows, or of a copy for later where log Z is out of reach."""
    small, large = sorted((visible, hidden))
    if small > LARGEST_ENUMERABLE_LAYER:
        return {"evaluation": 1, "parameter": visible * hidden}
    states = 2**small
    return {
        "state": states,
        "state unit": states * large,
        "row entry": rows * visible,
        "row product": 2 * rows * visible * hidden,
        "evaluation": 1,
    }


def _proxy(proxy: Proxy | None, rows: int, visible: int, hidden: int) -> Counter:
    """Return the operations of one reconstruction log-likelihood; none where there is none."""
    if proxy is None:
        return Counter()
    m, n, chains = visible, hidden, (proxy.rows or rows) * proxy.chains
    products = 4 * m * n * (proxy.steps + 1)
    return Counter(
        {
            _product(m, n): chains * products,
            "row": chains * proxy.steps,
            "unit": chains * (proxy.steps * (m + n) + m),
        }
    )


def _bias_bound(settings: RunSettings, visible: int, hidden: int) -> Counter:
    """Return the operations of the bias of CD and its bounds of one model; none where they are not evaluated."""
    if settings.bias_bound is None:
        return Counter()
    k = settings.bias_bound.k or settings.schedule[-1].estimator.options.get("k", 1)
    return Counter(_enumerated_steps(k, visible, hidden))


def _enumerated_steps(k: int, visible: int, hidden: int) -> dict[str, float]:
    """Return the operations of k Gibbs steps of a distribution over all states, tables of conditionals included."""
    m, n = visible, hidden
    entries = 2**m * 2 ** (n / 2) + 2**n * 2 ** (m / 2)
    return {_product(m, n): 4 * k * 2 ** (m + n), "unit": (8 + k) * entries}


def _evaluations(settings: RunSettings) -> int:
    """Return how often a run is evaluated: before the first iteration, at every interval, and at the end."""
    return 1 + -(-settings.iterations // settings.evaluate_every) + len(settings.evaluate_at)


def _shards(visible: int, hidden: int, rows: int, trials: int, precision: str) -> int:
    """Return into how many shards training cuts the trials of a run on one thread."""
    bytes_a_trial = 3 * rows * (visible + hidden) * np.dtype(precision).itemsize
    return -(-trials // max(1, min(SHARD_BYTES // bytes_a_trial, trials)))


def _times(counts: Counts, number: float) -> Counter:
    """Return counts so many times over."""
    return Counter({name: number * count for name, count in counts.items()})
