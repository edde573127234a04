"""Read the files of many runs into one tidy frame, and summarise it."""

from typing import Any

import numpy as np
import pandas as pd

from rbmbench.base.errors import ResultsError
from rbmbench.base.metrics import metric_of
from rbmbench.io.results import read_bias, read_curve, read_meta
from rbmbench.reporting.specs import Band, FigureSpec, Panel, Row, Run, TableSpec

__all__ = [
    "QUANTITIES",
    "ROW_COLUMNS",
    "annealing_certainty",
    "bias_variance",
    "by_model",
    "data_of",
    "final_means",
    "initial_words",
    "learning_curves",
    "machine_of",
    "read_trials",
    "run_settings",
    "summarise",
    "training_seconds",
    "trials_left_out",
]

BAND = Band()
PANEL_COLUMNS = ["panel", "data", "data_title", "hidden", "rate", "algorithm", "label", "stand_in", "rows"]
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


def data_of(meta: dict[str, Any], folder: str) -> dict[str, Any]:
    """Return title, rows and stand_in (what the data stand in for, "" for the real ones) from a run's meta.

    Raises
    ------
    ResultsError
        If the meta does not say where the data come from.
    """
    provenance = meta.get("data") or {}
    for key in ("title", "rows"):
        if key not in provenance:
            raise ResultsError(f"{folder}/meta.json: key 'data.{key}' is missing; found {sorted(provenance) or 'none'}")
    rows, stand_in = provenance["rows"], provenance.get("stand_in_for") or ""
    return {
        # The title of a stand-in says so itself; figures and tables say it in a place of its own.
        "title": provenance["title"].removesuffix(f" (stand-in for {stand_in})"),
        "rows": int(rows["train"] if isinstance(rows, dict) else rows),
        "stand_in": stand_in,
    }


def training_seconds(meta: dict[str, Any]) -> float:
    """Return the seconds that a run took to train all its trials, evaluation not counted.

    It is the processor's time where the run has recorded it, for other jobs on the machine lengthen the clock's; but
    the clock's on a GPU, for which the processor waits.
    """
    wall = meta["wall"]
    clock = wall["training_seconds"]
    return clock if meta["backend"] == "cupy" else wall.get("training_cpu_seconds", clock)


def machine_of(meta: dict[str, Any]) -> tuple:
    """Return what two runs must share for their times to be comparable."""
    hardware = meta.get("hardware", {})
    return hardware.get("cpu"), hardware.get("gpu"), meta["threads"], meta["backend"]


def read_trials(folder: str, metric: str = "log_likelihood") -> pd.DataFrame:
    """Return one metric of a run as a frame of trials (index) by iterations (columns), float64.

    A trial or an evaluation that the run should have and has not is there as NaN, so that it can be named.

    Raises
    ------
    ResultsError
        If a file is missing or damaged, or the run has no such metric.
    """
    meta, curve = read_meta(folder), read_curve(folder)
    chosen = curve[curve["metric"] == metric]
    if chosen.empty:
        found = ", ".join(sorted(curve["metric"].unique())) or "none"
        raise ResultsError(f"{folder}/curve.parquet: metric {metric!r} is missing; found: {found}")
    trials = chosen.pivot(index="trial", columns="iteration", values="value").sort_index(axis=1).astype(float)
    first = meta.get("settings", {}).get("first_trial", 0)
    expected = range(first, first + meta.get("trials", 0))
    return trials.reindex(sorted(set(expected) | set(trials.index))).rename_axis(index="trial")


def learning_curves(spec: FigureSpec) -> pd.DataFrame:
    """Return the curves of all panels of a figure in one tidy frame, each panel's of the metrics that it shows.

    Returns
    -------
    DataFrame
        Columns panel, data, data_title, hidden, rate, algorithm, label, stand_in, rows, trial, iteration, metric,
        value. Log-likelihoods are means over the rows of the training set, in nats. What is missing from a run has the
        value NaN.

    Raises
    ------
    ResultsError
        If a run's folder is missing or damaged, or a run has no metric that its panel shows.
    """
    curves = [(panel, run, metric) for panel in spec.panels for metric in panel.metrics for run in panel.runs]
    return pd.concat([_curve(*curve) for curve in curves], ignore_index=True)


def _curve(panel: Panel, run: Run, metric: str) -> pd.DataFrame:
    """Return the tidy curve of one run, with the labels of its panel."""
    data = data_of(read_meta(run.folder), run.folder)
    try:
        trials = read_trials(run.folder, metric)
    except ResultsError as error:
        raise ResultsError(f"panel {panel.name}, {run.label}: {error}") from None
    tidy = trials.reset_index().melt("trial", var_name="iteration", value_name="value")
    labels = [panel.name, panel.data, data["title"], panel.hidden, panel.rate, run.algorithm, run.label]
    frame = tidy.assign(**dict(zip(PANEL_COLUMNS, [*labels, data["stand_in"], data["rows"]], strict=True)))
    frame = frame.assign(metric=metric).sort_values(["trial", "iteration"])
    return frame[[*PANEL_COLUMNS, "trial", "iteration", "metric", "value"]]


def trials_left_out(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the trials with a missing or non-finite value, and the first iteration where.

    Returns
    -------
    DataFrame
        Columns panel, algorithm, label, trial, iteration; no rows when every value is finite.
    """
    bad = frame[~np.isfinite(frame["value"])]
    keys = ["panel", "algorithm", "label", "trial"]
    return bad.groupby(keys, sort=False, as_index=False)["iteration"].min()


def summarise(frame: pd.DataFrame, band: Band = BAND) -> pd.DataFrame:
    """Return mean and band over the trials at each iteration: the numbers that a figure shows.

    Trials with a missing or non-finite value are left out whole, for a mean over a changing set of trials would jump.

    Returns
    -------
    DataFrame
        The labels of the panel and the curve, iteration, metric, trials (how many are in the mean), mean, low, high
        (quantiles over the trials), all three per sample, and sum_mean, sum_low, sum_high, the same times the
        number of rows of the training set, in nats, for log-likelihoods (NaN for other metrics). Then path_1, ...: the
        values of the first trials that are not left out, per sample, as many as the band has sample paths; and median,
        per sample, if the band has one.
    """
    finite = np.isfinite(frame["value"])
    whole = finite.groupby([frame[key] for key in ("panel", "algorithm", "trial", "metric")]).transform("all")
    keys = [*PANEL_COLUMNS, "iteration", "metric"]
    groups = frame[whole].groupby(keys, sort=False)["value"]
    low, high = (groups.quantile(quantile) for quantile in band.quantiles)
    summary = groups.agg(trials="size", mean="mean").assign(low=low, high=high)
    for path in range(band.sample_paths):
        summary[f"path_{path + 1}"] = frame[whole].groupby(keys, sort=False).nth(path).set_index(keys)["value"]
    if band.median:
        summary["median"] = groups.median()
    summary = summary.reset_index()
    rows = summary["rows"].where(summary["metric"].map(lambda name: metric_of(name).summed))
    return summary.assign(**{f"sum_{column}": summary[column] * rows for column in ("mean", "low", "high")})


def bias_variance(spec: TableSpec) -> pd.DataFrame:
    """Return all that was measured for a table of bias and variance in one tidy frame.

    Returns
    -------
    DataFrame
        Columns row, data, data_title, hidden, rate, k, algorithm, label, stand_in, iterations (of the training of the
        models), estimates (how many each number rests on), model (index of the trained model), ground_truth, quantity,
        value. Quantities are per parameter, see `rbmbench.measurements.gradient_bias`.

    Raises
    ------
    ResultsError
        If a folder is missing or damaged.
    """
    return pd.concat([_measured(row, part) for row in spec.rows for part in row.estimates], ignore_index=True)


def _measured(row: Row, estimate: Any) -> pd.DataFrame:
    """Return what was measured of one estimator, with the labels of its row."""
    model, meta = read_meta(row.model), read_meta(estimate.folder)
    data = data_of(model, row.model)
    settings = meta.get("settings", {})
    labels = [row.name, row.data, data["title"], row.hidden, row.rate, estimate.k, estimate.algorithm, estimate.label]
    return (
        read_bias(estimate.folder)
        .rename(columns={"trial": "model"})
        .assign(
            **dict(zip(ROW_COLUMNS, [*labels, data["stand_in"]], strict=True)),
            iterations=model.get("iterations"),
            estimates=settings.get("estimates", meta.get("estimates")),
        )[[*ROW_COLUMNS, "iterations", "estimates", "model", "ground_truth", "quantity", "value"]]
    )


def by_model(tidy: pd.DataFrame) -> pd.DataFrame:
    """Return what was measured with one line for each row, estimator, ground truth and model, quantities as columns.

    Parameters
    ----------
    tidy : DataFrame
        As `bias_variance` returns it.

    Returns
    -------
    DataFrame
        The labels of the row, iterations, estimates, ground_truth, model, and the columns `QUANTITIES`, float64, NaN
        where a quantity was not measured.
    """
    keys = [*ROW_COLUMNS, "iterations", "estimates", "ground_truth", "model"]
    # A pivot would drop or cross keys that are missing, such as k; a number for each distinct line avoids both.
    lines = tidy.groupby(keys, sort=False, dropna=False).ngroup()
    labels = tidy[keys].assign(line=lines).drop_duplicates("line").set_index("line")
    values = tidy.assign(line=lines).pivot(index="line", columns="quantity", values="value").reindex(columns=QUANTITIES)
    return labels.join(values).sort_index().reset_index(drop=True)


def final_means(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the means at the last evaluation, per sample: one line a panel and metric, one column an algorithm.

    Parameters
    ----------
    summary : DataFrame
        As `summarise` returns it.
    """
    curves = summary.groupby(["panel", "algorithm", "metric"])
    last = summary[summary["iteration"] == curves["iteration"].transform("max")]
    table = last.pivot(index=["panel", "data_title", "rate", "metric"], columns="label", values="mean")
    return table[list(last["label"].unique())]


def annealing_certainty(spec: FigureSpec) -> pd.DataFrame:
    """Return how sure log Z is where it was estimated by annealing: one line a curve, over its trials and evaluations.

    Returns
    -------
    DataFrame
        Columns panel, algorithm (its label), particles, temperatures, largest standard error (nats), and least share of
        particles (the effective sample size over the number of particles); no lines where log Z is exact.

    Raises
    ------
    ResultsError
        If a run's folder is missing or damaged.
    """
    columns = ["panel", "algorithm", "particles", "temperatures", "largest standard error", "least share of particles"]
    lines = []
    curves = [(panel, run) for panel in spec.panels if panel.annealing for run in panel.runs]
    for panel, run in curves:
        error = read_trials(run.folder, "log_partition_error").to_numpy()
        size = read_trials(run.folder, "annealing_effective_sample_size").to_numpy()
        particles, temperatures = panel.annealing["particles"], panel.annealing["temperatures"]
        share = np.nanmin(size) / particles
        lines.append((panel.name, run.label, particles, temperatures, np.nanmax(error), share))
    return pd.DataFrame(lines, columns=columns)


def run_settings(spec: FigureSpec) -> pd.DataFrame:
    """Return the settings that the runs of each panel share: one line a panel, in the order of the figure.

    Raises
    ------
    ResultsError
        If a run's folder is missing or damaged.
    """
    lines = []
    for panel in spec.panels:
        meta = read_meta(panel.runs[0].folder)
        settings = meta.get("settings", {})
        line = {"panel": panel.name, "data": data_of(meta, panel.runs[0].folder)["title"]}
        line |= {key: getattr(panel, key) for key in ("hidden", "rate", "iterations", "trials")}
        line |= {key: settings.get(key) for key in ("batch", "evaluate_every", "precision", "seed")}
        lines.append(line | {"initial parameters": ", ".join(initial_words(settings.get("initial") or {}))})
    return pd.DataFrame(lines).set_index("panel")


def initial_words(initial: dict) -> list[str]:
    """Return in words what the initial parameters are: "normal 0.01" and, if they are not drawn, "biases zero"."""
    words = f"{initial.get('kind', '')} {initial.get('width', '')}".strip()
    biases = {"zero": ["biases zero"], "base_rate": ["base-rate biases"]}
    return [words, *biases.get(initial.get("biases"), [])]
