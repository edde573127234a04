# SPDX-License-Identifier: BSD-3-Clause
"""Tables of the bias and variance of gradient estimates of trained models."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd
from pydantic import Field

from rbmbench.base.settings import (
    Count,
    CountOrZero,
    EstimateSettings,
    GroundTruthSettings,
    Positive,
    Settings,
    Several,
    TemperatureCount,
)
from rbmbench.config.checks import Checks
from rbmbench.config.paper import KINDS, Paper
from rbmbench.config.parts import Name, Names, Panel
from rbmbench.io.layout import BIAS, META
from rbmbench.io.results import read_meta, read_table
from rbmbench.planning.chart import Table
from rbmbench.planning.jobs import Job, Output, unique
from rbmbench.planning.kinds import Kind
from rbmbench.planning.runs import Planner, schedule_of
from rbmbench.planning.specs import Source, Spec, TableSpec
from rbmbench.reporting.frames import data_of
from rbmbench.reporting.text_tables import by_interval, interval, part_of, significant
from rbmbench.reporting.words import UNITS, counts, data_name, listed, phrases, stand_ins, variant_notes

ENUMERABLE_UNITS = 20
"""Most units of the smaller layer for which an exact ground truth is computed beside the sampled one."""
QUANTITIES = [
    "variance",
    "variance_negative_phase",
    "bias",
    "bias_floor",
    "bias_debiased",
    "bias_low",
    "bias_high",
    "seconds_per_estimate",
]
ROW_COLUMNS = ["row", "data", "data_title", "hidden", "rate", "k", "algorithm", "label", "stand_in"]
BUDGETS = {"iterations": "iterations", "estimates": "estimate.estimates", "truth_samples": "ground_truth.samples"}
"""Settings of budgets by column."""
GROUND_TRUTHS = {"exact": "exact", "parallel_tempering": "PT"}


# --- Configuration ----------------------------------------------------------------------------------------------------


class TruthBudget(Settings):
    """Budget of the ground truth by parallel tempering."""

    chains: TemperatureCount = Field(description="inverse temperatures")
    burn_in: CountOrZero = Field(description="steps before the first sample")
    samples: Several = Field(description="samples the model expectation is averaged over")


class EstimatedModels(Panel):
    """Trained models, and the mini-batches of their estimates."""

    samples: Count | None = Field(
        default=None, description="rows of a mini-batch of the estimates; null: those of the data set's entry"
    )


# --- Spec -------------------------------------------------------------------------------------------------------------


class Estimate(Spec):
    """One estimator of a row."""

    algorithm: str
    label: str
    k: int | None = None
    folder: str


class Row(Spec):
    """One trained model, or several of the same settings, and its measured estimates."""

    name: str
    data: str
    hidden: int
    rate: float
    samples: int | None = None
    model: str = Field(description="folder of the run that trained the models")
    ground_truth: dict[str, int] = Field(default={}, description="chains, burn_in and samples of parallel tempering")
    estimates: tuple[Estimate, ...]


class PublishedEntry(Settings):
    """One entry of a published table."""

    row: Name = Field(description="row of the table")
    algorithm: Name = Field(description="key of the algorithm")
    variance: Positive | None = Field(default=None, description="variance divided by the number of parameters")
    bias: Positive | None = Field(default=None, description="squared bias divided by the number of parameters")


class Published(Settings):
    """A published table of bias and variance, and the budgets behind it."""

    estimates: Several | None = Field(default=None, description="gradient estimates per model")
    iterations: dict[Name, Count] = Field(default={}, description="iterations of training, by row")
    entries: tuple[PublishedEntry, ...] = Field(default=(), description="the numbers of the table")

    def value(self, row: str, algorithm: str, quantity: str) -> float | None:
        """Return the published number; None if the paper has none."""
        entries = [entry for entry in self.entries if (entry.row, entry.algorithm) == (row, algorithm)]
        return getattr(entries[0], quantity) if entries else None


@dataclass(frozen=True, kw_only=True)
class Entry(Source):
    """One estimator of one row; its frame has a row per trained model, as `BiasVarianceSpec.read` returns them."""

    ground_truth: str
    printed_estimates: int | None
    """Number of estimates behind the published numbers; None if unknown."""


class BiasVarianceSpec(TableSpec):
    """A table of bias and variance."""

    rows: tuple[Row, ...]
    published: Published = Published()

    NAMES = "TABLE.ROW.ESTIMATOR"

    def sources(self) -> dict[str, tuple[str, ...]]:
        sources: dict[str, tuple[str, ...]] = {}
        for row in self.rows:
            sources |= {row.model: (META,)} | {estimate.folder: (BIAS, META) for estimate in row.estimates}
        return sources

    def read(self) -> pd.DataFrame:
        """Return all measurements: a row per table row, estimator, ground truth and trained model.

        Columns are row, data, data_title, hidden, rate, k, algorithm, label, stand_in, iterations (of the training of
        the models), estimates (their number), ground_truth, model (index of the trained model), and the quantities of
        `rbmbench.measurements.gradient_bias`, float64, NaN if not measured.
        """
        parts = []
        for row, estimate in ((line, entry) for line in self.rows for entry in line.estimates):
            model, meta = read_meta(row.model), read_meta(estimate.folder)
            data, settings = data_of(model, row.model), meta.get("settings", {})
            title = f"{data['title']}, {row.samples} samples" if row.samples else data["title"]
            labels = [row.name, row.data, title, row.hidden, row.rate, estimate.k, estimate.algorithm, estimate.label]
            fields = dict(zip(ROW_COLUMNS, [*labels, data["stand_in"]], strict=True))
            fields |= {"iterations": model.get("iterations")}
            fields |= {"estimates": settings.get("estimates", meta.get("estimates"))}
            parts.append(read_table(estimate.folder, BIAS).rename(columns={"trial": "model"}).assign(**fields))
        keys = [*ROW_COLUMNS, "iterations", "estimates", "ground_truth", "model"]
        values = pd.concat(parts).set_index([*keys, "quantity"])["value"].unstack("quantity", sort=False)
        return values.reindex(columns=QUANTITIES).reset_index()

    def numbers(self, results: pd.DataFrame) -> pd.DataFrame:
        """Return the contents of the CSV: a row per table row, estimator and ground truth.

        Columns are scale, row, data, data_title, hidden, rate, k, algorithm, label, stand_in, ground_truth; models
        (their number), iterations, estimates, truth_samples and the paper's (paper_iterations, ...); the means over the
        models of variance, variance_negative_phase, bias, bias_floor, bias_debiased, bias_low, bias_high (per
        parameter) and seconds_per_estimate; variance_spread and bias_spread (standard deviation over the models, NaN
        for a single one); published_variance, published_bias (NaN where the paper has none).
        """
        models = results.astype({"k": "Int64"})
        groups = models.groupby([*ROW_COLUMNS, "iterations", "estimates", "ground_truth"], sort=False, dropna=False)
        spread = groups[["variance", "bias"]].std().add_suffix("_spread")
        wide = groups[QUANTITIES].mean().join(spread).join(groups["model"].nunique().rename("models")).reset_index()
        for quantity in ("variance", "bias"):
            values = [self.published.value(*pair, quantity) for pair in wide[["row", "algorithm"]].values]
            wide[f"published_{quantity}"] = pd.Series(values, dtype=float)
        samples = {row.name: row.ground_truth.get("samples") for row in self.rows}
        wide["truth_samples"] = wide["row"].map(samples).astype("Int64")
        for name, setting in BUDGETS.items():
            pairs = wide[["row", name]].itertuples(index=False, name=None)
            published = [self.as_published(setting, value, row) for row, value in pairs]
            wide[f"paper_{name}"] = pd.Series(published, dtype="Int64")
        wide["scale"] = self.scale
        budgets = ["models", *(f"{prefix}{name}" for name in BUDGETS for prefix in ("", "paper_"))]
        numbers = [*QUANTITIES, "variance_spread", "bias_spread", "published_variance", "published_bias"]
        return wide[["scale", *ROW_COLUMNS, "ground_truth", *budgets, *numbers]]

    def table(self, numbers: pd.DataFrame) -> Table:
        """Return the table in the layout of the paper, and a table of the uncertainty of the biases."""
        caption = (
            f"{self.title}. Variance and squared bias of the gradient estimated from one mini-batch, over the number of"
            " parameters; mean over the trained models. Bias is the raw value, against the exact expectation where it"
            " can be enumerated, else against parallel tempering (PT). A finite number of estimates puts a floor under"
            " it; the debiased value has the floor taken off, and an interval."
        )
        measured = _paper_layout(numbers)
        pairs = [(family, quantity.removesuffix(", published")) for family, quantity in measured if "," in quantity]
        published = {f"{family} {quantity}": f"{family} {quantity}, published" for family, quantity in pairs}
        parts = (
            part_of(caption, measured, 1, published),
            part_of("How sure the biases are", _certainty_layout(numbers), 4),
        )
        return Table(parts=parts, notes=(*variant_notes(self), *_notes(numbers, self)))

    def evidence(self, results: pd.DataFrame, name: str, **_: object) -> Entry | None:
        """Return the entry ROW.ESTIMATOR, relative to the best available ground truth."""
        row, _, algorithm = name.partition(".")
        models = results[(results["row"] == row) & (results["algorithm"] == algorithm)]
        if models.empty:
            return None
        truths = list(models["ground_truth"].unique())
        truth = "exact" if "exact" in truths else truths[0]
        best = models[models["ground_truth"] == truth].set_index("model")
        first = best.iloc[0]
        return Entry(
            label=first["label"],
            stand_in=first["stand_in"],
            budget={"iterations": first["iterations"], "estimates": first["estimates"], "models": len(best)},
            differences=self.of_part(row, algorithm),
            frame=best,
            ground_truth=truth,
            printed_estimates=self.published.estimates,
        )


@KINDS.register
class BiasVariance(Kind):
    """A table of the bias and variance of gradient estimates of trained models."""

    trained_with: Name = Field(description="key of the algorithm that trains the models")
    estimators: Names = Field(description="keys of the algorithms whose estimates are measured")
    models: Count = Field(description="trained models per row")
    estimates: Several = Field(description="gradient estimates per estimator and model")
    ground_truth: TruthBudget = Field(description="budget of the ground truth by parallel tempering")
    rows: Annotated[dict[Name, EstimatedModels], Field(min_length=1)] = Field(description="the rows, by name")

    IS_TABLE = True
    SPEC = BiasVarianceSpec

    def names(self, paper: Paper) -> Iterator[str]:
        for row in self.rows:
            yield from (f"{row}.{name}" for name in self.estimators)

    def check(self, checks: Checks, location: tuple) -> None:
        checks.check_algorithms(self.estimators, (*location, "estimators"))
        checks.check_algorithms((self.trained_with,), (*location, "trained_with"))
        checks.check_one_stage(self.estimators, (*location, "estimators"))
        labels = [checks.paper.algorithms[name].label for name in self.estimators]
        checks.check_labels(labels, (*location, "estimators"))
        for name, row in self.rows.items():
            place = (*location, "rows", name)
            checks.check_panel(row, (self.trained_with,), place)
            checks.check_sizes_of(row.data, row.hidden, self.estimators, place)
            checks.check_rows(row.samples, row.data, (*place, "samples"))

    def plan(self, planner: Planner, key: str) -> Output:
        rows, runs, estimates, parts = [], [], [], {}
        for name, row in self.rows.items():
            run = planner.run(row, self.trained_with, row.trials or self.models)
            truths = self._ground_truths(planner, row, run)
            jobs = {algorithm: self._estimate(planner, row, run, algorithm, truths) for algorithm in self.estimators}
            runs.append(run.id)
            estimates += [estimate.id for estimate in jobs.values()]
            truth_jobs = [planner.plan.jobs[truth] for truth in truths]
            parts |= {(name, algorithm): (run, *truth_jobs, estimate) for algorithm, estimate in jobs.items()}
            entries = planner.labelled({algorithm: planner.plan.folder(job) for algorithm, job in jobs.items()})
            for entry in entries:
                entry["k"] = planner.paper.algorithms[entry["algorithm"]].stages[0].options.get("k")
            folders = {"model": planner.plan.folder(run), "estimates": entries}
            shared = row.model_dump(include={"data", "hidden", "samples"})
            shared["rate"] = run.settings.schedule[0].rate  # the algorithm may have its own
            rows.append(Row(name=name, **shared, ground_truth=self.ground_truth.model_dump(), **folders))
        spec = BiasVarianceSpec(**planner.heading(key, self), rows=rows)
        return Output(spec, unique([*runs, *estimates]), parts)

    def _ground_truths(self, planner: Planner, row: Panel, run: Job) -> tuple[str, ...]:
        """Return the ids of a row's ground truths: by parallel tempering, and exact if it can be computed."""
        seed = planner.seed("ground_truth", row.data, row.hidden)
        methods = [GroundTruthSettings(method="parallel_tempering", seed=seed, **self.ground_truth.model_dump())]
        if min(row.hidden, planner.paper.data[row.data].visible) <= ENUMERABLE_UNITS:
            methods.insert(0, GroundTruthSettings(method="exact"))
        truths = []
        for settings in methods:
            name = f"{row.data}-{row.hidden}h-{settings.method}-truth"
            title = f"{settings.method.replace('_', ' ')} gradient, {planner.trained_on(row)}"
            truths.append(planner.measured("ground_truth", name, run, settings, title=title).id)
        return tuple(truths)

    def _estimate(
        self, planner: Planner, row: EstimatedModels, run: Job, algorithm: str, truths: tuple[str, ...]
    ) -> Job:
        """Return the estimates of one algorithm for a row; all algorithms have the same mini-batches."""
        settings = EstimateSettings(
            estimator=schedule_of(planner.paper.algorithms[algorithm], row)[0].estimator,
            batch=row.samples or planner.paper.data[row.data].batch,
            estimates=self.estimates,
            seed=planner.seed("estimates", row.data, row.hidden),
        )
        name = f"{row.data}-{row.hidden}h-{algorithm}-bias"
        title = f"bias of {planner.paper.algorithms[algorithm].label}, {planner.trained_on(row)}"
        return planner.measured("estimate", name, run, settings, truths, title)


def _paper_layout(wide: pd.DataFrame) -> pd.DataFrame:
    """Return text cells in the layout of the paper: a row for each problem and k, measured beside published numbers.

    Columns have two levels: ("", "problem"), ("", "k"), ("", "n"), then for each kind of estimator variance, published,
    bias, published.
    """
    rows: dict[tuple, dict[tuple[str, str], str]] = {}
    # Exact ground truths come first, and are kept below.
    order = wide.assign(order=wide["ground_truth"].ne("exact")).sort_values("order", kind="stable")
    for entry in order.drop_duplicates(["row", "algorithm"]).sort_index().itertuples():
        k = None if pd.isna(entry.k) else int(entry.k)
        row = rows.setdefault((entry.row, k), {})
        row["", "problem"] = _problem(entry)
        row["", "k"], row["", "n"] = "" if k is None else str(k), str(entry.hidden)
        family = re.sub(rf"-{k}$", "-k", entry.label)  # "pop-CD-k" for "pop-CD-10"
        for quantity in ("variance", "bias"):
            row[family, quantity] = significant(getattr(entry, quantity))
            row[family, f"{quantity}, published"] = significant(getattr(entry, f"published_{quantity}"))
    table = pd.DataFrame(list(rows.values())).fillna("")
    table.columns = pd.MultiIndex.from_tuples(table.columns)
    # Columns of published numbers are dropped if they are empty.
    return table.loc[:, [not (name[1].endswith("published") and (table[name] == "").all()) for name in table.columns]]


def _certainty_layout(wide: pd.DataFrame) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "problem": _problem(entry),
            "n": str(entry.hidden),
            "estimator": entry.label,
            "ground truth": GROUND_TRUTHS.get(entry.ground_truth, entry.ground_truth),
            "bias": by_interval(entry.bias, entry.bias_low, entry.bias_high),
            "floor": significant(entry.bias_floor),
            "debiased": by_interval(entry.bias_debiased, entry.bias_low, entry.bias_high),
            "interval": interval(entry.bias_low, entry.bias_high),
            "variance of the negative phase": significant(entry.variance_negative_phase),
            "models": str(entry.models),
            "spread of variance": significant(entry.variance_spread),
            "spread of bias": significant(entry.bias_spread),
        }
        for entry in wide.itertuples()
    )
    optional = [name for name in table if name.startswith(("spread", "variance of"))]
    return table.drop(columns=[name for name in optional if (table[name] == "").all()])


def _problem(entry: Any) -> str:
    marked = isinstance(entry.stand_in, str) and entry.stand_in  # an empty text of a CSV file is read as NaN
    return f"{entry.data_title} (for {data_name(entry.stand_in)})" if marked else entry.data_title


def _notes(wide: pd.DataFrame, spec: TableSpec) -> Iterator[str]:
    yield f"Scale: {spec.scale}; trained models per row: {counts(wide['models'])}."
    if wide["models"].max() > 1:
        yield "Interval: mean of the intervals of the models; it holds for these models. Spread: over the models."
    yield from (f"Stand-in data: {phrase}." for phrase in stand_ins(wide))
    for row, lines in wide.groupby("row", sort=False):
        first = lines.iloc[0]
        ends = lines.groupby("label", sort=False).agg({"bias_low": "max", "bias_high": "min"})
        if apart := list(ends.index[ends["bias_low"] > ends["bias_high"]]):
            words = f"the intervals by PT and by the exact gradient are apart for {listed(apart)}; PT errs"
            yield f"{first['data_title']}, n = {first['hidden']} ({row}): {words}."
        budgets = (difference for difference in spec.of_part(row) if difference.kind == "budget")
        if less := phrases(budgets, UNITS | {"iterations": "training iterations", "trials": "models"}):
            yield f"{first['data_title']}, n = {first['hidden']} ({row}): {listed(less)}."
