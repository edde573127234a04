# SPDX-License-Identifier: BSD-3-Clause
"""Certificates of small models with known properties: sound ones, and ones with a planted fault.

    python benchmarks/certificates.py --seed 4 --count 40 --out results/benchmarks/certificates.csv

Each group has ``count`` models of random data and sizes. The first four also have random rates and lengths of training:

- **sound**: trained with the exact gradient or parallel tempering, until the likelihood hardly rises any more.
- **far from equilibrium**: trained by CD-1 until the exact log-likelihood has lost a quarter of what it had gained.
- **wrong temperature**: trained with model expectations at an inverse temperature of 0.6 to 0.8, as by a broken ladder;
  scaling the parameters by it would gain more than 10 % of the advantage over independent units.
- **hidden mode**: a sound model with one more hidden unit, which holds a share of 0.2 to 0.8 of the probability in
  states far from all rows, and costs at least 0.1 nats per row.

The others are trained with the exact gradient on 2000 rows, and examined with as many others of the same law; of digits
there are fewer:

- **nothing planted**.
- **own rows**: the same models, examined with exact samples of themselves.
- **missing mode**: the same models, but a share of 0.02, 0.05, 0.1 or 0.2 of the rows that they are examined with, of
  those trained on too, is replaced by a mode: a random state, each bit flipped with probability 0 or 0.05.
- **spurious mode**: trained on rows with such a mode, examined with rows without it.

A mode is present if 20 000 exact samples of the model have at most a tenth of a missing mode's mass within m // 8 bits
of its state, or at least half of a spurious one's and the rows at most a tenth.

docs/reliability.md has the tables.
"""

import argparse
from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from rbmbench import datasets, train
from rbmbench.base.settings import CertificateSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.likelihood import (
    base_rate_bias,
    data_statistics,
    exact_log_partition,
    exact_model_statistics,
    log_likelihood,
)
from rbmbench.measurements.certificate import certificate
from rbmbench.measurements.modes import SHARES as LIMITS
from rbmbench.measurements.verdicts import CERTIFIED, NOT_CERTIFIED, verdict
from rbmbench.model.rbm import RBM
from rbmbench.reporting.claims.intervals import share as share_interval
from rbmbench.samplers.exact import exact_samples

INITIAL = {"kind": "normal", "width": 0.01, "biases": "base_rate"}
SHARES = 0.02, 0.05, 0.1, 0.2
"""Shares of the mass of planted modes."""
ROWS = 2000
"""Rows that models with planted modes are trained on, and examined with."""
BUDGET = {"particles": 100, "temperatures": 200, "walkers": 64, "steps": 64}
"""Budget of the quantities that are not for modes, if modes are planted."""
LEAST_RISE = 0.3
"""Nats per row that a model must be better than the initial one."""
MOST_MODES = 50
"""Modes that are tried in one model."""
LEAST_LOSS = 0.1
"""Nats per row that a planted fault must cost."""


class Example(NamedTuple):
    """A model, (1, m, n), the rows it was trained on, and how."""

    rbm: RBM
    rows: np.ndarray
    how: str


def drawn_rows(generator: np.random.Generator, rows: int = 2000) -> tuple[str, np.ndarray]:
    """Return a random data set: its name and rows, about ``rows`` of them if they are drawn."""
    draw = generator.integers
    options = {
        "bars_and_stripes": {"side": int(draw(3, 5))},
        "artificial_modes": {
            "dim": int(draw(12, 21)),
            "modes": int(draw(3, 7)),
            "copies": rows // 4,
            "seed": int(draw(1000)),
        },
        "shifting_bar": {"d": int(draw(9, 15)), "bar": int(draw(1, 4))},
        "simulated_rbm": {
            "visible": int(draw(15, 31)),
            "hidden": int(draw(4, 9)),
            "rows": rows,
            "seed": int(draw(1000)),
        },
        "digits": {},
    }
    name = list(options)[draw(len(options))]
    return name, datasets.load(name, **options[name]).train


class Curve(NamedTuple):
    """Exact log-likelihoods along a training run, and the model at its end."""

    example: Example
    values: np.ndarray

    @property
    def rise(self) -> float:
        """The largest gain over the initial model."""
        return self.values.max() - self.values[0]


def trained(generator: np.random.Generator, choices: list, rates: list[float], lengths: list[int]) -> Curve:
    """Return a training run with random data, sizes, and one of some estimators, rates and numbers of iterations."""
    (name, rows), hidden = drawn_rows(generator), int(generator.integers(4, 13))
    estimator, options = choices[generator.integers(len(choices))]
    rate, length = float(generator.choice(rates)), int(generator.choice(lengths))
    batch, seed = min(len(rows), int(generator.choice([16, 50, 100]))), int(generator.integers(2**31))
    fields = {"rate": rate, "seed": seed, "evaluate_every": length // 20, "initial": INITIAL}
    run = train(rows, hidden=hidden, batch=batch, iterations=length, estimator=estimator, options=options, **fields)
    values = run.curve[run.curve["metric"] == "log_likelihood"].sort_values("iteration")["value"].to_numpy()
    how = f"{name} {rows.shape[1]}x{hidden}, {estimator}, rate {rate:g}, {length} iterations"
    return Curve(Example(run.rbm, rows, how), values)


def mean_likelihood(rbm: RBM, rows: np.ndarray) -> float:
    """Return the exact mean log-likelihood of rows, nats."""
    return float(log_likelihood(rbm, rows, exact_log_partition(rbm))[0])


def sound(generator: np.random.Generator) -> Example:
    """Return a model that was trained in equilibrium until it hardly became better."""
    choices = [("exact", {}), ("parallel_tempering", {"temperatures": 10})]
    while True:
        run = trained(generator, choices, [0.05, 0.1], [2000, 5000])
        late = run.values[-1] - run.values[-6]
        if (
            run.rise > LEAST_RISE
            and abs(late) < 0.03 * run.rise
            and run.values[-1] > run.values.max() - 0.02 * run.rise
        ):
            return run.example


def far_from_equilibrium(generator: np.random.Generator) -> Example:
    """Return a model that became worse with CD-1."""
    while True:
        run = trained(generator, [("cd", {"k": 1})], [0.05, 0.1, 0.3], [2000, 5000, 10000])
        if run.rise > LEAST_RISE and run.values[-1] < run.values.max() - 0.25 * run.rise:
            return run.example


def wrong_temperature(generator: np.random.Generator) -> Example:
    """Return a model that was trained with the model expectations of another temperature."""
    while True:
        (name, rows), hidden = drawn_rows(generator), int(generator.integers(4, 13))
        beta, rate = float(generator.choice([0.6, 0.7, 0.8])), 0.1
        W = generator.normal(0, 0.01, (1, rows.shape[1], hidden))
        rbm = RBM(W, base_rate_bias(rows)[None], np.zeros((1, hidden)))
        for _ in range(1000):
            batch = rows[generator.integers(len(rows), size=min(100, len(rows)))]
            scaled = RBM(*(beta * parameter for parameter in rbm.parameters))
            gradient = data_statistics(rbm, batch) - exact_model_statistics(scaled)
            rbm = RBM(*(parameter + rate * step for parameter, step in zip(rbm.parameters, gradient, strict=True)))
        scaled = RBM(*(beta * parameter for parameter in rbm.parameters))
        plain, better = (mean_likelihood(model, rows) for model in (rbm, scaled))
        bias = base_rate_bias(rows)
        independent = float((rows @ bias).mean() - np.logaddexp(0, bias).sum())
        if better > independent + LEAST_RISE and better - plain > max(LEAST_LOSS, 0.1 * (plain - independent)):
            return Example(rbm.astype(np.float32), rows, f"{name} {rows.shape[1]}x{hidden}, expectations at {beta:g}")


def hidden_mode(generator: np.random.Generator, example: Example) -> Example:
    """Return a sound model, if possible this one, with a mode that no row is in."""
    for tries in count(1):
        example = example if tries % MOST_MODES else sound(generator)
        share, rbm = with_mode(example, generator)
        loss = mean_likelihood(example.rbm, example.rows) - mean_likelihood(rbm, example.rows)
        if loss > LEAST_LOSS:
            return Example(rbm, example.rows, f"{example.how}, mode of {share:g}")


def with_mode(example: Example, generator: np.random.Generator) -> tuple[float, RBM]:
    """Return the share of a further mode, and the model with that mode."""
    W, b, c = (parameter[0].astype(np.float64) for parameter in example.rbm.parameters)
    states = generator.integers(0, 2, (200, len(b)))
    differing = (states[:, None] != example.rows[None, :2000]).sum(axis=-1).min(axis=1)
    strength, share = float(generator.choice([2.0, 3.0])), float(generator.choice([0.2, 0.4, 0.6, 0.8]))
    weights = strength * (2.0 * states[differing.argmax()] - 1)
    off, on = (exact_log_partition(RBM(W, b + added, c)) for added in (0.0, weights))
    bias = np.log(share / (1 - share)) + off - on
    parts = np.column_stack([W, weights]), b, np.append(c, bias)
    return share, RBM(*(parameter[None].astype(np.float32) for parameter in parts))


GROUPS = ("sound", "far from equilibrium", "wrong temperature", "hidden mode")


@cache
def example_of(group: str, seed: int, number: int) -> Example:
    """Return a model of a group."""
    generator = np.random.default_rng([seed, number, GROUPS.index(group)])
    match group:
        case "sound":
            return sound(generator)
        case "far from equilibrium":
            return far_from_equilibrium(generator)
        case "wrong temperature":
            return wrong_temperature(generator)
    return hidden_mode(generator, example_of("sound", seed, number))


class Fault(NamedTuple):
    """A model, (1, m, n), the rows that it is examined with, others that it was not trained on, and its mode's mass."""

    rbm: RBM
    rows: np.ndarray
    test: np.ndarray
    share: float = 0.0
    is_present: bool = True


def with_modes(seed: int, number: int) -> Iterator[tuple[str, Fault]]:
    """Yield models with planted modes, and without, by their group."""
    generator = np.random.default_rng([seed, number, len(GROUPS)])
    name, rows = drawn_rows(generator, 2 * ROWS)
    whole = name in ("bars_and_stripes", "shifting_bar")  # whose rows are all their states
    order = generator.integers(len(rows), size=2 * ROWS) if whole else generator.permutation(len(rows))[: 2 * ROWS]
    halves, m = np.array_split(rows[order], 2), rows.shape[1]
    hidden, flip = int(generator.integers(4, 13)), float(generator.choice([0.0, 0.05]))
    state = generator.integers(0, 2, m).astype(np.uint8)
    noisy = [state ^ (generator.random(part.shape) < flip) for part in halves]

    def fitted(data: np.ndarray) -> RBM:
        options = {"rate": 0.1, "seed": number, "evaluate_every": 4000, "initial": INITIAL}
        return train(data, hidden=hidden, batch=100, iterations=4000, estimator="exact", **options).rbm

    def drawn(rbm: RBM) -> np.ndarray:
        stream = Stream(seed, [number], Purpose.DATA)
        return exact_samples(rbm.astype(np.float64), 20_000, stream)[0].astype(np.uint8)

    def mass(states: np.ndarray) -> float:
        return float(((states != state).sum(axis=1) <= m // 8).mean())

    plain = fitted(halves[0])
    samples = drawn(plain)
    yield "nothing planted", Fault(plain, *halves)
    yield "own rows", Fault(plain, *np.array_split(samples[: 2 * ROWS], 2))
    for share in SHARES:
        pairs = zip(halves, noisy, strict=True)
        mixed = [
            np.concatenate([part[int(share * len(part)) :], moved[: int(share * len(part))]]) for part, moved in pairs
        ]
        yield "missing mode", Fault(plain, *mixed, share, mass(samples) <= share / 10)
        spurious = fitted(mixed[0])
        is_present = mass(drawn(spurious)) >= share / 2 and mass(halves[1]) <= share / 10
        yield "spurious mode", Fault(spurious, *halves, share, is_present)


def judged(example: Example, group: str, number: int, test: np.ndarray | None = None, **budget: int) -> dict:
    """Return the verdict on a model and the quantities behind it."""
    quantities = certificate(example.rbm, example.rows, CertificateSettings(seed=number, **budget), test)
    scalars = quantities[quantities["step"] == 0].set_index("quantity")["value"].to_dict()
    exact, result = float(exact_log_partition(example.rbm)[0]), verdict(quantities)
    holds = scalars["log_partition_low"] <= exact <= scalars["log_partition_high"]
    record = {"group": group, "number": number, "how": example.how, "verdict": result.word, "holds": holds}
    return record | {"detectable": result.detectable, "reasons": "; ".join(result.reasons)} | scalars


def examined(group: str, seed: int, number: int) -> dict:
    """Return the verdict on one model of the first four groups."""
    return judged(example_of(group, seed, number), group, number)


def examined_modes(seed: int, number: int) -> Iterator[dict]:
    """Yield the verdicts on models with planted modes, and without.

    "seen" is the lower end of the mass on the side of the fault (of both, without one), "before" whether the model
    without a mode had any on that side.
    """
    sides, before = {"missing mode": ["missing"], "spurious mode": ["spurious"]}, {}
    for group, fault in with_modes(seed, number):
        example = Example(fault.rbm, fault.rows, f"{fault.rbm.visible_units}x{fault.rbm.hidden_units}")
        record = judged(example, group, number, fault.test, **BUDGET)
        lows = {side: record[f"{side}_low"] for side in ("missing", "spurious")}
        before = before or {side: low > 0 for side, low in lows.items()}
        group_sides = sides.get(group, list(lows))
        seen = {"seen": max(lows[side] for side in group_sides), "before": any(before[side] for side in group_sides)}
        yield {"share": fault.share, "there": fault.is_present} | seen | record


def rate(count: int, models: int, decimals: int = 0) -> str:
    """Return a share with its exact 95 % interval, in per cent."""
    ends = [f"{end:.{decimals}%}" for end in share_interval(count, models)] if models else []
    return "{} ({} to {})".format(*ends) if ends else "-"


def summary(records: pd.DataFrame) -> pd.DataFrame:
    """Return counts of verdicts by group and share of the mode, and of intervals of certified models that hold log Z.

    Planted modes count if they are present, and if nothing was found on their side before.
    """
    records, rows = records.fillna({"share": 0.0}), []
    counted = (records["share"] == 0) | ((records["there"] == True) & (records["before"] == False))  # noqa: E712  # or NaN
    for (group, share), table in records[counted].groupby(["group", "share"], sort=False):
        certified = table[table["verdict"] == CERTIFIED]
        row = {"group": group, "share": share, "models": len(table), "certified": len(certified)}
        row |= {"not certified": int((table["verdict"] == NOT_CERTIFIED).sum()), "held": int(certified["holds"].sum())}
        row["share certified"] = rate(len(certified), len(table))
        if table["seen"].notna().all():
            row |= {f"above {limit:g}": rate(int((table["seen"] > limit).sum()), len(table)) for limit in LIMITS[::-1]}
            row["could be seen"] = f"{table['detectable'].median():.1%}"
        rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    """Make all models, examine them, and write the verdicts after each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("--seed", 4), ("--first", 0), ("--count", 40)):
        parser.add_argument(name, type=int, default=default)
    parser.add_argument("--modes", action="store_true", help="only the groups with planted modes, and without")
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/certificates.csv"))
    arguments = parser.parse_args()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    records: list[dict] = []
    for number in range(arguments.first, arguments.first + arguments.count):
        records += examined_modes(arguments.seed, number)
        records += (examined(group, arguments.seed, number) for group in GROUPS if not arguments.modes)
        pd.DataFrame(records).to_csv(arguments.out, index=False, float_format="%.5g")
    print(summary(pd.DataFrame(records)).to_string(index=False))


if __name__ == "__main__":
    main()
