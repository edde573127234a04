# SPDX-License-Identifier: BSD-3-Clause
"""How far estimates of log Z are from the truth, and from what they report, on models of which it is known.

    python benchmarks/partition_functions.py coverage --count 55 --out results/benchmarks/log_z_coverage.csv

Each group has ``count`` models of random data and sizes:

- **random**: normal parameters, W with a deviation of 0.1 to 1.
- **two modes**: trained with the exact gradient, and a hidden unit that holds 0.2 to 0.8 of the probability in states
  far from all rows.
- **CD-1**, **PCD**: trained by these at high rates, most far from equilibrium; **times 3**: the same models,
  all parameters multiplied by 3.

Every model is estimated by `rbmbench.likelihood.tempered_log_partition`, and by annealed importance sampling with 100
particles and as many products.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

from certificates import INITIAL, Made, drawn_rows, trained, with_mode
from rbmbench import train
from rbmbench.likelihood import (
    ais_log_partition,
    base_rate_bias,
    exact_log_partition,
    tempered_log_partition,
)
from rbmbench.model.rbm import RBM
from rbmbench.reporting.claims.intervals import share as share_interval

BUDGET = 2_000_000
"""Products of rows at which the chains of a model end."""
PARTICLES = 100
NORMAL = 1.96
WRONG = 3.0
"""Standard errors from the truth at which an estimate that reports convergence is called wrong."""
SHORT = {"rates": [0.1, 0.3], "lengths": [5000, 10000]}


def random_model(generator: np.random.Generator) -> Made:
    """Return a model of normal parameters, and rows of fair coins."""
    m, n = int(generator.integers(9, 31)), int(generator.integers(4, 16))
    width = float(generator.uniform(0.1, 1))
    shapes = (1, m, n), (1, m), (1, n)
    rbm = RBM(*(generator.normal(0, width, shape).astype(np.float32) for shape in shapes))
    return Made(rbm, generator.integers(0, 2, (200, m)).astype(np.uint8), f"normal {m}x{n}, deviation {width:.2f}")


def two_modes(generator: np.random.Generator) -> Made:
    """Return a model with a mode that no row is in."""
    (name, rows), hidden = drawn_rows(generator), int(generator.integers(4, 13))
    options = {"rate": 0.1, "evaluate_every": 2000, "initial": INITIAL}
    rbm = train(rows, hidden=hidden, batch=min(100, len(rows)), iterations=2000, estimator="exact", **options).rbm
    share, rbm = with_mode(Made(rbm, rows, name), generator)
    return Made(rbm, rows, f"{name} {rows.shape[1]}x{hidden + 1}, mode of {share:g}")


def models(seed: int, number: int) -> Iterator[tuple[str, Made]]:
    """Yield the models of a number, by their group."""
    generator = np.random.default_rng([seed, number])
    yield "random", random_model(generator)
    yield "two modes", two_modes(generator)
    for name, choice in (("CD-1", ("cd", {"k": 1})), ("PCD", ("pcd", {"k": 1}))):
        made = trained(generator, [choice], **SHORT).made
        yield name, made
        yield f"{name} times 3", made._replace(rbm=RBM(*(3 * part for part in made.rbm.parameters)))


def examined(group: str, made: Made, number: int) -> dict:
    """Return both estimates of log Z of a model, less the truth, with what they report."""
    truth, started = exact_log_partition(made.rbm)[0], perf_counter()
    tempered = tempered_log_partition(made.rbm, made.rows, budget=BUDGET, seed=number)
    of_model = {"group": group, "number": number, "how": made.how, "seconds": perf_counter() - started}
    of_model |= {name: value[0] for name, value in vars(tempered).items()}
    steps = max(1, int(tempered.products[0]) // (2 * PARTICLES))
    ais = ais_log_partition(made.rbm, PARTICLES, steps, number, base=base_rate_bias(made.rows))
    of_model["difference"] = of_model.pop("log_partition") - truth
    of_model |= {"ais_difference": ais.log_partition[0] - truth, "ais_error": ais.standard_error[0]}
    return of_model | {"ais_share": ais.effective_sample_size[0] / PARTICLES, "exact": truth}


def summary(models: pd.DataFrame) -> pd.DataFrame:
    """Return the coverage of intervals by group, and of all, of tempered chains that converged and of annealing."""
    rows = []
    for group, part in [*models.groupby("group", sort=False), ("all", models)]:
        sure = part[part["converged"]]
        z, ais = sure["difference"] / sure["standard_error"], part["ais_difference"] / part["ais_error"]
        row = {"group": group, "models": len(part), "converged": len(sure), "products": part["products"].median()}
        row["interval holds log Z"] = rate(int((z.abs() <= NORMAL).sum()), len(sure))
        row["wrong"] = int((z.abs() > WRONG).sum())
        row["rms difference"] = np.sqrt((sure["difference"] ** 2).mean())
        row["AIS holds log Z"] = rate(int((ais.abs() <= NORMAL).sum()), len(part))
        row["AIS rms difference"] = np.sqrt((part["ais_difference"] ** 2).mean())
        rows.append(row)
    return pd.DataFrame(rows)


def rate(count: int, of: int) -> str:
    """Return a share with its exact 95 % interval."""
    return "{:.1%} ({:.1%} to {:.1%})".format(*share_interval(count, of)) if of else "-"


def coverage(seed: int, first: int, count: int, out: Path) -> None:
    """Estimate log Z of all models; write the estimates after each number."""
    rows: list[dict] = []
    for number in range(first, first + count):
        rows += [examined(group, made, number) for group, made in models(seed, number)]
        pd.DataFrame(rows).to_csv(out, index=False, float_format="%.5g")
    print(summary(pd.DataFrame(rows)).to_string(index=False))


def main() -> None:
    """Run the experiment that is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiment", choices=["coverage"])
    for name, default in (("--seed", 7), ("--first", 0), ("--count", 55)):
        parser.add_argument(name, type=int, default=default)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/log_z_coverage.csv"))
    arguments = parser.parse_args()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    coverage(arguments.seed, arguments.first, arguments.count, arguments.out)


if __name__ == "__main__":
    main()
