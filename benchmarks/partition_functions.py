# SPDX-License-Identifier: BSD-3-Clause
"""Errors of estimates of log Z, and of the standard errors that they report, on models of known log Z.

    python benchmarks/partition_functions.py coverage --count 55 --out results/benchmarks/log_z_coverage.csv
    python benchmarks/partition_functions.py bracket --count 24 --out results/benchmarks/log_z_bracket.csv
    python benchmarks/partition_functions.py large --models letters_cd_1 --out results/benchmarks/log_z_large.csv
    python benchmarks/partition_functions.py draw --out results/benchmarks/log_z_large.csv

**coverage**: each group has ``count`` models of random data and sizes:

- **random**: normal parameters, W with a deviation of 0.1 to 1.
- **two modes**: trained with the exact gradient, and a hidden unit that holds 0.2 to 0.8 of the probability in states
  far from all rows.
- **CD-1**, **PCD**: trained by these at high rates, most far from equilibrium; **times 3**: the same models,
  all parameters multiplied by 3.

Every model is estimated by `rbmbench.likelihood.tempered_log_partition`, and by annealed importance sampling with 100
particles and as many products.

**bracket**: the same models are annealed with 32 particles in both directions, with equal steps and with steps that are
denser near 1.

**large**: estimates of log Z of large models of letters and MNIST against a long reference, for several numbers of
products: annealing, annealing in reverse from samples of tempered chains (their products are not counted), sequential
Monte Carlo (annealing with resampling when the effective sample size is below half of the particles), and tempered
chains. **draw** makes a picture of its file.
"""

import argparse
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

from certificates import INITIAL, Example, drawn_rows, rate, trained, with_mode
from rbmbench import datasets, train
from rbmbench.base.metrics import NORMAL
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import kernels_for
from rbmbench.likelihood import (
    ais_log_partition,
    base_rate_bias,
    bracketed_log_partition,
    exact_log_partition,
    inverse_temperatures,
    reverse_ais_log_partition,
    tempered_log_partition,
)
from rbmbench.likelihood.annealing import log_of_base
from rbmbench.likelihood.particles import ParticleShard
from rbmbench.model.rbm import RBM
from rbmbench.model.tempered_sets import TemperedSets

BUDGET = 2_000_000
"""Products of rows at which the chains of a model end."""
PARTICLES = 100
WRONG = 3.0
"""Standard errors from the truth at which an estimate that reports convergence is called wrong."""
SHORT = {"rates": [0.1, 0.3], "lengths": [5000, 10000]}


def random_model(generator: np.random.Generator) -> Example:
    """Return a model of normal parameters, and rows of fair coins."""
    m, n = int(generator.integers(9, 31)), int(generator.integers(4, 16))
    width = float(generator.uniform(0.1, 1))
    shapes = (1, m, n), (1, m), (1, n)
    rbm = RBM(*(generator.normal(0, width, shape).astype(np.float32) for shape in shapes))
    return Example(rbm, generator.integers(0, 2, (200, m)).astype(np.uint8), f"normal {m}x{n}, deviation {width:.2f}")


def two_modes(generator: np.random.Generator) -> Example:
    """Return a model with a mode that no row is in."""
    (name, rows), hidden = drawn_rows(generator), int(generator.integers(4, 13))
    options = {"rate": 0.1, "evaluate_every": 2000, "initial": INITIAL}
    rbm = train(rows, hidden=hidden, batch=min(100, len(rows)), iterations=2000, estimator="exact", **options).rbm
    share, rbm = with_mode(Example(rbm, rows, name), generator)
    return Example(rbm, rows, f"{name} {rows.shape[1]}x{hidden + 1}, mode of {share:g}")


def models(seed: int, number: int) -> Iterator[tuple[str, Example]]:
    """Yield the models of a number, by their group."""
    generator = np.random.default_rng([seed, number])
    yield "random", random_model(generator)
    yield "two modes", two_modes(generator)
    for name, choice in (("CD-1", ("cd", {"k": 1})), ("PCD", ("pcd", {"k": 1}))):
        example = trained(generator, [choice], **SHORT).example
        yield name, example
        yield f"{name} times 3", example._replace(rbm=RBM(*(3 * parameter for parameter in example.rbm.parameters)))


def examined(group: str, example: Example, number: int) -> Iterator[dict]:
    """Yield both estimates of log Z of a model, less the truth, with the quantities that they report."""
    truth, started = exact_log_partition(example.rbm)[0], perf_counter()
    tempered = tempered_log_partition(example.rbm, example.rows, budget=BUDGET, seed=number)
    record = {"group": group, "number": number, "how": example.how, "seconds": perf_counter() - started}
    record |= {name: value[0] for name, value in vars(tempered).items()}
    steps = max(1, int(tempered.products[0]) // (2 * PARTICLES))
    ais = ais_log_partition(example.rbm, PARTICLES, steps, number, base=base_rate_bias(example.rows))
    record["difference"] = record.pop("log_partition") - truth
    record |= {"ais_difference": ais.log_partition[0] - truth, "ais_error": ais.standard_error[0]}
    yield record | {"ais_share": ais.effective_sample_size[0] / PARTICLES, "exact": truth}


def summary(models: pd.DataFrame) -> pd.DataFrame:
    """Return the coverage of intervals by group, and of all, of tempered chains that converged and of annealing."""
    rows = []
    for group, table in [*models.groupby("group", sort=False), ("all", models)]:
        converged = table[table["converged"]]
        z, ais = converged["difference"] / converged["standard_error"], table["ais_difference"] / table["ais_error"]
        row = {"group": group, "models": len(table), "converged": len(converged)}
        row["products"] = table["products"].median()
        row["interval holds log Z"] = rate(int((z.abs() <= NORMAL).sum()), len(converged), 1)
        row["wrong"] = int((z.abs() > WRONG).sum())
        row["rms difference"] = np.sqrt((converged["difference"] ** 2).mean())
        row["AIS holds log Z"] = rate(int((ais.abs() <= NORMAL).sum()), len(table), 1)
        row["AIS rms difference"] = np.sqrt((table["ais_difference"] ** 2).mean())
        rows.append(row)
    return pd.DataFrame(rows)


def estimate_all(
    examine: Callable[[str, Example, int], Iterator[dict]],
    summarise: Callable[[pd.DataFrame], pd.DataFrame],
    arguments: argparse.Namespace,
) -> None:
    """Estimate log Z of all models, write the estimates after each number, and print their summary."""
    rows: list[dict] = []
    for number in range(arguments.first, arguments.first + arguments.count):
        rows += [row for group, example in models(arguments.seed, number) for row in examine(group, example, number)]
        pd.DataFrame(rows).to_csv(arguments.out, index=False, float_format="%.5g")
    print(summarise(pd.DataFrame(rows)).to_string(index=False))


STEPS_OF_BRACKET, FEWEST_PARTICLES = (500, 2500), 32


def bracketed(group: str, example: Example, number: int) -> Iterator[dict]:
    """Yield forward estimates of log Z of a model and both ends of the bracket, less the truth."""
    truth, base, settings = exact_log_partition(example.rbm)[0], base_rate_bias(example.rows), {"seed": number}
    for steps, spacing in itertools.product(STEPS_OF_BRACKET, ("equal", "dense")):
        schedule = inverse_temperatures(steps, spacing)
        forward = ais_log_partition(example.rbm, FEWEST_PARTICLES, schedule, base=base, **settings)
        bracket = bracketed_log_partition(example.rbm, example.rows, FEWEST_PARTICLES, schedule, base=base, **settings)
        forward_record = {"difference": forward.log_partition[0] - truth, "error": forward.standard_error[0]}
        bracket_record = {"low": bracket.low[0] - truth, "high": bracket.high[0] - truth}
        record = {"group": group, "number": number, "how": example.how, "steps": steps, "spacing": spacing}
        yield record | forward_record | bracket_record | {"share": forward.effective_sample_size[0] / FEWEST_PARTICLES}


def summary_of_brackets(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the coverage of the intervals of forward annealing and of brackets, by steps and spacing."""
    lines = []
    for (steps, spacing), table in rows.groupby(["steps", "spacing"]):
        line = {"steps": steps, "spacing": spacing, "models": len(table)}
        forward = int((table["difference"].abs() <= NORMAL * table["error"]).sum())
        line["forward holds log Z"] = rate(forward, len(table), 1)
        line["bracket holds log Z"] = rate(int(((table["low"] <= 0) & (table["high"] >= 0)).sum()), len(table), 1)
        line["rms difference"] = np.sqrt((table["difference"] ** 2).mean())
        lines.append(line | {"median width": (table["high"] - table["low"]).median()})
    return pd.DataFrame(lines)


LARGE = {
    "letters_cd_1": ("letters", 100, 246, 0.1, 100_000, "cd", 1),
    "mnist_pcd_1": ("mnist", 500, 500, 0.05, 1500, "pcd", 1),
    "mnist_cd_10": ("mnist", 500, 500, 0.05, 1500, "cd", 10),
}
"""Data, hidden units, batch, rate, iterations, estimator and k of large models."""
PRODUCTS = 250_000, 1_000_000, 4_000_000
STEPS, SWEEPS, LADDER = 200, 1000, 30
"""Of the tempered chains that give samples for annealing in reverse."""


def large_model(name: str) -> Example:
    """Return a large model after its training."""
    data, hidden, batch, rate, iterations, estimator, k = LARGE[name]
    rows = datasets.load(data).train
    options = {"rate": rate, "seed": 5, "evaluate_every": iterations}
    run = train(
        rows, hidden=hidden, batch=batch, iterations=iterations, estimator=estimator, options={"k": k}, **options
    )
    return Example(run.rbm, rows, f"{data} {rows.shape[1]}x{hidden}, {estimator}-{k}, {iterations} iterations")


def samples_of(example: Example, count: int, seed: int) -> np.ndarray:
    """Return samples of a model by tempered chains, half of them from rows and half from independent units."""
    stream = Stream(seed, [0], Purpose.SAMPLES)
    sets = TemperedSets(example.rbm[:1], base_rate_bias(example.rows), stream)
    grid, states, _ = sets.annealed(example.rows, count, STEPS)
    chosen = np.linspace(0, len(grid) - 1, LADDER).round().astype(int)
    sets.begin(grid[chosen], states[:, chosen])
    for _ in range(SWEEPS):
        sets.round()
    return sets.states()[:, -1]


def resampled_annealing(example: Example, particles: int, steps: int, seed: int) -> float:
    """Return log Z by annealing with systematic resampling at effective sample sizes below half of the particles."""
    b0, schedule, rbm = base_rate_bias(example.rows), np.linspace(0, 1, steps + 1), example.rbm[:1]
    shard = ParticleShard(rbm, b0, Stream(seed, [0], Purpose.ANNEALING))
    visible = np.zeros((1, particles, len(b0)), rbm.b.dtype)
    kernels_for(visible).sample_bernoulli(visible, np.asarray(b0, rbm.b.dtype)[None], shard.stream.next())
    shard.begin(visible)
    value, generator = log_of_base(rbm, b0), np.random.default_rng(seed)
    for beta in range(steps):
        shard.advance(schedule[beta : beta + 2].tolist())
        weights = np.exp(shard.log_weights[0] - shard.log_weights.max())
        if beta == steps - 1 or weights.sum() ** 2 / (weights**2).sum() < particles / 2:
            value += shard.log_weights.max() + np.log(weights.mean())
            points = (np.arange(particles) + generator.random()) / particles
            chosen = np.searchsorted(np.cumsum(weights / weights.sum()), points).clip(max=particles - 1)
            shard.visible, shard.log_weights = shard.visible[:, chosen].copy(), np.zeros_like(shard.log_weights)
    return value


def estimates(example: Example, products: int, seed: int, samples: np.ndarray) -> Iterator[tuple[str, float, float]]:
    """Yield methods, with their estimates of log Z and the standard errors they report."""
    rbm, base = example.rbm[:1], base_rate_bias(example.rows)
    for particles in (32, PARTICLES):
        forward = ais_log_partition(rbm, particles, products // (2 * particles), seed, base=base)
        yield f"AIS, {particles} particles", forward.log_partition[0], forward.standard_error[0]
    steps = products // (2 * len(samples))
    reverse = reverse_ais_log_partition(rbm, samples[None], steps, seed, base=base)
    yield f"reverse AIS, {len(samples)} particles", reverse.log_partition[0], reverse.standard_error[0]
    smc = resampled_annealing(example, PARTICLES, products // (2 * PARTICLES), seed)
    yield f"SMC, {PARTICLES} particles", smc, np.nan
    tempered = tempered_log_partition(rbm, example.rows, 1e-6, products, seed)
    yield "tempered chains, two starts", tempered.log_partition[0], tempered.standard_error[0]


def large(name: str, repetitions: int, budgets: list[int], reference: int, out: Path) -> None:
    """Estimate log Z of a large model by all methods; add the estimates to a file."""
    example = large_model(name)
    long = tempered_log_partition(example.rbm[:1], example.rows, 1e-6, reference, 10**6)
    print(example.how, *(f"{field} {value[0]:.6g}" for field, value in vars(long).items()), sep=", ")
    truth, records = long.log_partition[0], pd.read_csv(out).to_dict("records") if out.exists() else []
    model_record = {"model": name, "reference": truth, "reference_error": long.standard_error[0]}
    for seed in range(repetitions):
        samples = samples_of(example, 32, seed)
        for products in budgets:
            for method, value, error in estimates(example, products, seed, samples):
                method_record = {"method": method, "products": products, "seed": seed, "difference": value - truth}
                records.append(model_record | method_record | {"standard_error": error})
                pd.DataFrame(records).to_csv(out, index=False, float_format="%.6g")


def draw(file: Path) -> None:
    """Draw the root mean square difference from the reference by products, a panel for each model."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter

    models = pd.read_csv(file).groupby("model", sort=False)
    figure, axes = plt.subplots(1, len(models), figsize=(4.5 * len(models), 3.5), squeeze=False, layout="constrained")
    for ax, (name, table) in zip(axes[0], models, strict=True):
        for method, values in table.groupby("method", sort=False):
            squares = (values["difference"] ** 2).groupby(values["products"]).mean()
            ax.loglog(squares.index, np.sqrt(squares), marker="o", label=method)
        ax.axhline(
            table["reference_error"].iloc[0], color="grey", linestyle=":", label="standard error of the reference"
        )
        ax.xaxis.set_minor_formatter(NullFormatter())
        budgets = sorted(table["products"].unique())
        ax.set_xticks(budgets, [f"{products / 1e6:g} million" for products in budgets])
        ax.set(title=name, xlabel="rows multiplied by W or W'", ylabel="rms difference of log Z (nats)")
    figure.legend(*axes[0, -1].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    figure.savefig(file.with_suffix(".png"), dpi=150)


def main() -> None:
    """Run an experiment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiment", choices=["coverage", "bracket", "large", "draw"])
    for name, default in (("--seed", 7), ("--first", 0), ("--count", 55), ("--repetitions", 4)):
        parser.add_argument(name, type=int, default=default)
    parser.add_argument("--models", nargs="+", choices=list(LARGE), default=list(LARGE))
    parser.add_argument("--products", nargs="+", type=int, default=list(PRODUCTS))
    parser.add_argument("--reference", type=int, default=40_000_000, help="products of the reference")
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/log_z.csv"))
    arguments = parser.parse_args()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    match arguments.experiment:
        case "coverage":
            estimate_all(examined, summary, arguments)
        case "bracket":
            estimate_all(bracketed, summary_of_brackets, arguments)
        case "large":
            for name in arguments.models:
                large(name, arguments.repetitions, arguments.products, arguments.reference, arguments.out)
        case "draw":
            draw(arguments.out)


if __name__ == "__main__":
    main()
