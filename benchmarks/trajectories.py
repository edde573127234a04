# SPDX-License-Identifier: BSD-3-Clause
"""Trajectory tempering beside PCD in training, and log Z along trajectories beside AIS along inverse temperatures.

    python benchmarks/trajectories.py training --out results/benchmarks
    python benchmarks/trajectories.py log_partition --out results/benchmarks

All models have 16 hidden units, so that likelihoods and log Z are exact. Costs are products of a row of a layer with W.
docs/trajectories.md has the numbers.
"""

import argparse
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from rbmbench import datasets, train
from rbmbench.base.settings import RunSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.datasets.artificial_modes import prototypes
from rbmbench.kernels.numpy import binary_states
from rbmbench.likelihood import (
    ais_log_partition,
    base_rate_bias,
    bennett_log_partition,
    exact_log_partition,
    trajectory_ais_log_partition,
)
from rbmbench.likelihood.trajectories import acceptance
from rbmbench.model.enumeration import visible_distribution
from rbmbench.model.rbm import RBM, clipped_base_rate, initial_rbm
from rbmbench.model.trajectories import from_independent, independent_log_partition
from rbmbench.samplers import TrajectoryTempering, choose_ladder
from rbmbench.training.shards import make_shards

HIDDEN, TRIALS = 16, 5
REPETITIONS = 20
DATA = ["bars", "modes", "unequal_modes", "letters", "mnist"]
ALGORITHMS = {  # estimator, options, and iterations as a share: products are equal where no checkpoint is frozen
    "PCD-1": ("pcd", {"k": 1}, 4 / 3),
    "PCD-2": ("pcd", {"k": 2}, 1),
    "PCD-10": ("pcd", {"k": 10}, 1 / 3),
    "PTT-1": ("trajectory_tempering", {"k": 1}, 1),
}


def unequal_modes(seed: int) -> np.ndarray:
    """Return rows of four artificial modes with the weights 0.55, 0.25, 0.15 and 0.05."""
    copies = np.repeat(prototypes(16, 4), (5500, 2500, 1500, 500), axis=0)
    return copies ^ (np.random.default_rng(seed).random(copies.shape) < 0.01).astype(np.uint8)


def data_set(name: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Return training rows, held-out rows, and the rows of a mini-batch."""
    if name == "bars":
        rows = datasets.load("bars_and_stripes").train
        return rows, rows, 32
    if name == "modes":
        return *(datasets.load("artificial_modes", seed=seed).train for seed in (0, 1)), 500
    if name == "unequal_modes":
        return unequal_modes(0), unequal_modes(1), 500
    if name == "letters":
        rows = np.random.default_rng(0).permutation(datasets.load("letters").train)
        return rows[5000:], rows[:5000], 246
    data = datasets.load("mnist")
    return data.train[:20_000], data.test, 500


def mode_error(rbm: RBM, rows: np.ndarray) -> np.ndarray:
    """Return the total variation between the weights of the four modes in models and in rows, (trials,)."""
    states = binary_states(16)
    nearest = np.abs(states[:, None] - prototypes(16, 4)).sum(axis=-1).argmin(axis=-1)
    row_weights = np.bincount(nearest[rows @ (1 << np.arange(15, -1, -1))], minlength=4) / len(rows)
    weights = visible_distribution(rbm)
    model_weights = np.stack([weights[:, nearest == mode].sum(axis=-1) for mode in range(4)], axis=-1)
    return np.abs(model_weights - row_weights).sum(axis=-1) / 2


def training(names: list[str], iterations: int, rates: list[float]) -> pd.DataFrame:
    """Train by PCD and by trajectory tempering; return held-out likelihoods, products and times at 20 points."""
    parts = []
    for name in names:
        rows, held_out, batch = data_set(name)
        for rate, (label, (estimator, options, share)) in product(rates, ALGORITHMS.items()):
            length = int(iterations * share)
            run = {"hidden": HIDDEN, "batch": batch, "iterations": length, "rate": rate, "trials": TRIALS, "seed": 1}
            run |= {"evaluate_every": length // 20, "test_likelihood": True, "threads": 1}
            result = train(rows, test=held_out, estimator=estimator, options=options, **run)
            curve = result.curve.pivot_table(index="iteration", columns="metric", values="value", aggfunc="mean")
            # The mini-batch takes one product for its means, statistics one for each phase.
            negative_products = curve.get("row_products", pd.Series((2 * options["k"] + 1) * batch, curve.index))
            curve["products"] = ((negative_products.fillna(0) + 3 * batch) * np.diff(curve.index, prepend=0)).cumsum()
            curve["seconds"] = result.timings["training_seconds"] * curve.index / length
            if "modes" in name:
                curve.loc[curve.index[-1], "mode_error"] = mode_error(result.rbm, held_out).mean()
            last = result.curve[result.curve.iteration == length]
            deviation = last[last.metric == "test_log_likelihood"].value.std()
            parts.append(curve.reset_index().assign(data=name, rate=rate, algorithm=label, deviation=deviation))
            print(parts[-1].iloc[-1].to_dict(), flush=True)
    return pd.concat(parts)


def trajectory(rows: np.ndarray, batch: int, estimator: str, iterations: int, snapshots: int = 200) -> RBM:
    """Return the models of a run from small weights and the rates of the data, and independent units before them."""
    stage = {"until": iterations, "estimator": {"name": estimator}, "rate": 0.05}
    settings = RunSettings(data={"name": "made"}, hidden=HIDDEN, batch=batch, schedule=[stage], seed=2)
    initial, rates = Stream(2, [0], Purpose.INITIAL_PARAMETERS), clipped_base_rate(rows)
    rbm = initial_rbm(rows.shape[1], HIDDEN, initial, "normal", 0.01, biases="base_rate", visible_bias=rates)
    (shard,), models, at = make_shards(rbm, rows, settings, 1), [rbm.copy()], 0
    shard.enter(settings.schedule[0], start=True)
    # Models change most at the beginning.
    for end in np.unique(np.rint(np.geomspace(1, iterations, snapshots)).astype(int)).tolist():
        shard.advance(at, end)
        models, at = [*models, rbm.copy()], end
    parts = zip(*(model.parameters for model in models), strict=True)
    return from_independent(RBM(*(np.concatenate(parameter) for parameter in parts)))


def errors_of_annealing(models: RBM, rows: np.ndarray, products: float) -> dict[str, np.ndarray]:
    """Return the errors of log Z of the last model by AIS with 100 particles, for about ``products`` products each."""
    particles, keys, last = 100, range(REPETITIONS), models[-1]
    repeated = RBM(*(np.repeat(parameter[None], REPETITIONS, axis=0) for parameter in last.parameters))
    steps, estimates = int(products / 2 / particles), {}
    for name, base in (("AIS, uniform", None), ("AIS, base rates", base_rate_bias(rows))):
        estimates[name] = ais_log_partition(repeated, particles, steps, 3, base=base, keys=keys).log_partition
    gaps = len(models.W) - 1
    inner, thinned = max(1, round(products / 3 / particles / gaps)), models
    if products / 3 / particles < gaps:  # fewer snapshots
        thinned = models[np.rint(np.linspace(0, gaps, int(products / 3 / particles) + 1)).astype(int)]
    paths = RBM(*(np.repeat(parameter[:, None], REPETITIONS, axis=1) for parameter in thinned.parameters))
    along = trajectory_ais_log_partition(paths, particles, inner, 4, keys=keys)
    estimates["trajectory AIS"] = along.log_partition[-1]
    return {name: values - exact_log_partition(last) for name, values in estimates.items()}


def errors_of_bennett(models: RBM, products: float) -> tuple[dict[str, np.ndarray], list[float]]:
    """Return the errors of log Z by Bennett ratios, and levels and least acceptance of the ladder.

    Half of the rounds, from states of independent units, are for thermalising. The choice of the ladder is not in the
    products.
    """
    levels, _ = choose_ladder(models, 0.25, chains=200, rounds=50, seed=5)
    chains, ladder = 20, models[levels]
    rounds = int(products / (5 * len(levels) * chains))
    sampler, stream = TrajectoryTempering(ladder), Stream(6, range(len(levels)), Purpose.SAMPLES)
    visible = sampler.start(chains * REPETITIONS, stream)
    sampler.advance(visible, rounds // 2, stream)
    differences = sampler.advance(visible, rounds - rounds // 2, stream)
    start = float(independent_log_partition(ladder[0]))
    parts = np.split(differences, REPETITIONS, axis=-1)
    estimates = np.array([bennett_log_partition(start, gap).log_partition[-1] for gap in parts])
    return {"BAR": estimates - exact_log_partition(models[-1])}, [len(levels), acceptance(differences).min()]


def log_partition(names: list[str], budgets: list[float]) -> pd.DataFrame:
    """Return the root mean square error of log Z of trained models by each estimator at equal products."""
    lines = []
    for name, estimator in product(names, ("pcd", "trajectory_tempering")):
        rows, _, batch = data_set(name)
        models = trajectory(rows, batch, estimator, 10_000)
        for products in budgets:
            bennett, (levels, least) = errors_of_bennett(models, products)
            for label, errors in (errors_of_annealing(models, rows, products) | bennett).items():
                line = {"data": name, "trained by": estimator, "products": products, "estimator": label}
                line |= {"root mean square error": np.sqrt((errors**2).mean()), "mean error": errors.mean()}
                lines.append(line | {"levels": levels, "least acceptance": least})
                print(lines[-1], flush=True)
    return pd.DataFrame(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["training", "log_partition"])
    parser.add_argument("--out", type=Path, required=True, help="folder for the table")
    parser.add_argument("--iterations", type=int, default=9000)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.1, 0.01])
    parser.add_argument("--products", type=float, nargs="+", default=[1e5, 1e6], help="for each estimate of log Z")
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA)
    arguments = parser.parse_args()
    if arguments.what == "training":
        table = training(arguments.data, arguments.iterations, arguments.rates)
    else:
        table = log_partition(arguments.data, arguments.products)
    arguments.out.mkdir(parents=True, exist_ok=True)
    table.to_csv(arguments.out / f"trajectories_{arguments.what}.csv", index=False)


if __name__ == "__main__":
    main()
