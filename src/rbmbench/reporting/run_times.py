"""The table of run times: what the runs of one panel took, beside the published times.

seconds    of training one trial: processor time where it is known, which other programs disturb less, else the
clock's; start-up and compilation are no part of it;
ratio      to the seconds of the reference algorithm;
the last row is the reference with its log-likelihoods: training, and the clock's seconds of all evaluations.
"""

from collections.abc import Mapping
from os import PathLike
from typing import Any

import pandas as pd

from rbmbench.io.atomic import replaced
from rbmbench.io.results import read_meta
from rbmbench.reporting.frames import data_of, machine_of, training_seconds
from rbmbench.reporting.specs import RunTimesSpec
from rbmbench.reporting.text_tables import markdown_table, significant, tex_text
from rbmbench.reporting.words import count, listed, panel_cuts, stand_ins

__all__ = ["caption", "layout", "notes", "run_times", "write_markdown", "write_tex"]


def run_times(spec: RunTimesSpec) -> pd.DataFrame:
    """Return the table with one line for each algorithm, and one for the reference with its log-likelihoods.

    Returns
    -------
    DataFrame
        Columns scale, panel, data, data_title, stand_in, hidden, algorithm, label, with_log_likelihood, trials,
        iterations; training_seconds (by the clock), training_cpu_seconds and evaluation_seconds (annealing included) of
        all trials; seconds and seconds_per_1000_iterations of one trial; ratio (NaN for a run on another machine);
        published_seconds and published_ratio (NaN where the paper has none); backend, threads, cpu.

    Raises
    ------
    ResultsError
        If the folder of a run is missing or damaged.
    """
    metas = {run.algorithm: read_meta(run.folder) for run in spec.runs}
    lines = [_line(spec, run, metas[run.algorithm]) for run in spec.runs]
    reference = next(line for line in lines if line["algorithm"] == spec.reference)
    annealing = read_meta(spec.evaluation.folder)["wall"]["annealing_seconds"] if spec.evaluation else 0.0
    evaluation = reference["evaluation_seconds"] + annealing
    evaluated = reference | {"with_log_likelihood": True, "evaluation_seconds": evaluation}
    evaluated |= {"label": f"{reference['label']} with log-likelihoods"}
    evaluated["seconds"] = reference["seconds"] + evaluation / reference["trials"]
    machine = machine_of(metas[spec.reference])
    table = pd.DataFrame([*lines, evaluated])
    table["seconds_per_1000_iterations"] = 1000 * table["seconds"] / table["iterations"]
    # An algorithm that was run for other iterations is compared by what one of them takes.
    table["ratio"] = table["seconds"] / table["iterations"] / (reference["seconds"] / reference["iterations"])
    alike = [machine_of(metas[algorithm]) == machine for algorithm in table["algorithm"]]
    table["ratio"] = table["ratio"].where(alike)
    published = [spec.published.seconds(*pair) for pair in table[["algorithm", "with_log_likelihood"]].to_numpy()]
    table["published_seconds"] = pd.Series(published, dtype=float)
    table["published_ratio"] = table["published_seconds"] / (spec.published.seconds(spec.reference) or float("nan"))
    return table


def _line(spec: RunTimesSpec, run: Any, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the line of one run, without what depends on others."""
    data, wall = data_of(meta, run.folder), meta["wall"]
    return {
        "scale": spec.scale,
        "panel": spec.panel,
        "data": spec.data,
        "data_title": data["title"],
        "stand_in": data["stand_in"],
        "hidden": spec.hidden,
        "algorithm": run.algorithm,
        "label": run.label,
        "with_log_likelihood": False,
        "trials": meta["trials"],
        "iterations": meta["iterations"],
        "training_seconds": wall["training_seconds"],
        "training_cpu_seconds": wall.get("training_cpu_seconds"),
        "evaluation_seconds": wall["evaluation_seconds"],
        "seconds": training_seconds(meta) / meta["trials"],
        "backend": meta["backend"],
        "threads": meta["threads"],
        "cpu": meta["hardware"]["cpu"],
    }


def layout(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table for people, as text cells; without published numbers their columns are left out.

    Parameters
    ----------
    table : DataFrame
        As `run_times` returns it or as its CSV is read back.
    """
    cells = {
        "algorithm": table["label"],
        "iterations": [count(number) for number in table["iterations"]],
        "training, s": table["seconds"].map(significant),
        "s per 1000 iterations": table["seconds_per_1000_iterations"].map(significant),
        "ratio": table["ratio"].map(significant),
        "published, s": table["published_seconds"].map(lambda value: f"{value:g}" if pd.notna(value) else ""),
        "published ratio": table["published_ratio"].map(significant),
    }
    empty = [name for name, column in cells.items() if not any(column)]
    return pd.DataFrame(cells).drop(columns=empty)


def caption(spec: RunTimesSpec) -> str:
    """Return the caption of the table."""
    label = next(run.label for run in spec.runs if run.algorithm == spec.reference)
    return (
        f"{spec.title}. Seconds of training one trial of panel {spec.panel}, {spec.hidden} hidden units: processor time"
        " where it was recorded; start-up and compilation left out. All trials of a run advance together, which small"
        f" models gain from. Ratio: to {label}, by what an iteration takes. The row with log-likelihoods has the"
        f" clock's seconds of all evaluations added, one in {count(spec.evaluate_every)} iterations. Ratios can be"
        " compared across machines, seconds cannot."
    )


def notes(spec: RunTimesSpec, table: pd.DataFrame) -> list[str]:
    """Return one sentence for the scale, the machines, and each way in which the table differs from the paper's."""
    machines = table[["cpu", "threads", "backend"]].drop_duplicates()
    words = [
        f"{cpu}, {threads} thread{'s' * (threads != 1)}, {backend} kernels" for cpu, threads, backend in machines.values
    ]
    found = [f"Scale: {spec.scale}. Timed on: {'; '.join(words)}."]
    found += [f"Published times: {spec.published.machine}."] if spec.published.machine else []
    found += [f"Iterations and trials: {listed(panel_cuts(spec))}."] if panel_cuts(spec) else []
    found += [f"Stand-in data: {phrase}." for phrase in stand_ins(table)]
    apart = table.loc[table["ratio"].isna(), "label"].tolist()
    return found + ([f"Without a ratio, run on another machine: {listed(apart)}."] if apart else [])


def write_markdown(spec: RunTimesSpec, table: pd.DataFrame, path: str | PathLike) -> None:
    """Write the table with its caption and notes as Markdown."""
    parts = [
        f"# {spec.number} of {spec.paper}{spec.lacks}: {spec.title}",
        caption(spec),
        markdown_table(layout(table)),
        "\n".join(f"- {note}" for note in notes(spec, table)),
    ]
    with replaced(path) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def write_tex(spec: RunTimesSpec, table: pd.DataFrame, path: str | PathLike) -> None:
    """Write the table with its caption and notes as a LaTeX table (package booktabs)."""
    shown = layout(table).rename(columns=tex_text).map(tex_text)
    tabular = shown.style.hide(axis="index").to_latex(hrules=True, column_format="l" + "r" * (shown.shape[1] - 1))
    parts = [
        r"\begin{table}",
        r"\centering\footnotesize",
        rf"\caption{{{tex_text(caption(spec))}}}",
        rf"\label{{tab:{spec.key}}}",
        tabular + r"\par\medskip",
        " ".join(tex_text(note) for note in notes(spec, table)),
        r"\end{table}",
    ]
    with replaced(path) as temporary:
        temporary.write_text("\n".join(parts) + "\n", encoding="utf-8")
