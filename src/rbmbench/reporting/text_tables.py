"""The table of bias and variance: everything as CSV, the paper's layout as Markdown and LaTeX."""

import re
from os import PathLike

import pandas as pd
from tabulate import tabulate

from rbmbench.io.atomic import replaced
from rbmbench.reporting.frames import QUANTITIES, ROW_COLUMNS, by_model
from rbmbench.reporting.frames import bias_variance as measured
from rbmbench.reporting.specs import TableSpec
from rbmbench.reporting.words import count, cuts, data_name, listed, stand_ins

__all__ = [
    "bias_variance",
    "certainty_layout",
    "interval",
    "markdown_table",
    "paper_layout",
    "significant",
    "table_caption",
    "table_notes",
    "tex_text",
    "write_csv",
    "write_markdown",
    "write_tex",
]

BUDGETS = {
    "iterations": "training iterations",
    "estimates": "estimates",
    "truth_samples": "ground-truth samples of parallel tempering",
}
GROUND_TRUTHS = {"exact": "exact", "parallel_tempering": "PT"}


def bias_variance(spec: TableSpec) -> pd.DataFrame:
    """Return the table with one line for each row, estimator and ground truth: what the CSV holds.

    Returns
    -------
    DataFrame
        Columns scale, row, data, data_title, hidden, rate, k, algorithm, label, stand_in, ground_truth; models (how
        many trained models), iterations, estimates, truth_samples and the paper's (paper_iterations, ...); the means
        over the models of variance, variance_negative_phase, bias, bias_floor, bias_debiased, bias_low, bias_high (per
        parameter) and seconds_per_estimate; variance_spread and bias_spread (standard deviation over the models, NaN
        for a single one); published_variance, published_bias (NaN where the paper has none).
    """
    models = by_model(measured(spec)).astype({"k": "Int64"})
    groups = models.groupby([*ROW_COLUMNS, "iterations", "estimates", "ground_truth"], sort=False, dropna=False)
    spread = groups[["variance", "bias"]].std().add_suffix("_spread")
    wide = groups[QUANTITIES].mean().join(spread).join(groups["model"].nunique().rename("models")).reset_index()
    published = spec.published
    for quantity in ("variance", "bias"):
        values = [published.value(row, algorithm, quantity) for row, algorithm in wide[["row", "algorithm"]].values]
        wide[f"published_{quantity}"] = pd.Series(values, dtype=float)
    wide = wide.merge(_paper_budgets(spec), on="row")
    wide["scale"] = spec.scale
    budgets = ["models", *(f"{of}{name}" for name in BUDGETS for of in ("", "paper_"))]
    numbers = [*QUANTITIES, "variance_spread", "bias_spread", "published_variance", "published_bias"]
    return wide[["scale", *ROW_COLUMNS, "ground_truth", *budgets, *numbers]]


def _paper_budgets(spec: TableSpec) -> pd.DataFrame:
    """Return, by row, the budgets of the paper, and how many samples the ground truth by parallel tempering has."""
    lines = [
        {
            "row": row.name,
            "paper_iterations": row.paper_iterations or spec.published.iterations.get(row.name),
            "paper_estimates": row.paper_estimates or spec.published.estimates,
            "truth_samples": row.ground_truth.get("samples"),
            "paper_truth_samples": (row.paper_ground_truth or {}).get("samples"),
        }
        for row in spec.rows
    ]
    table = pd.DataFrame(lines)
    return table.astype(dict.fromkeys(table.columns[1:], "Int64"))


def significant(value: float | None, digits: int = 3) -> str:
    """Return a number with so many significant digits, "" for none: 5.34874e-05 gives "5.35e-05"."""
    return "" if value is None or pd.isna(value) else f"{value:#.{digits}g}".rstrip(".")


def interval(low: float, high: float) -> str:
    """Return an interval in words, with as many digits as tell its ends apart; "" when there is none."""
    if pd.isna(low) or pd.isna(high):
        return ""
    ends = [(significant(low, digits), significant(high, digits)) for digits in range(3, 9)]
    return " to ".join(next((pair for pair in ends if pair[0] != pair[1]), ends[0]))


def _family_label(label: str, k: int | None) -> str:
    """Return the label of an estimator with k in place of its number: "pop-CD-k" for "pop-CD-10"."""
    return re.sub(rf"-{k}$", "-k", label)


def _best_truth(wide: pd.DataFrame) -> pd.DataFrame:
    """Return one line for each row and estimator: against the exact ground truth where there is one."""
    order = wide.assign(_order=wide["ground_truth"].ne("exact")).sort_values("_order", kind="stable")
    return order.drop_duplicates(["row", "algorithm"]).sort_index().drop(columns="_order")


def paper_layout(wide: pd.DataFrame) -> pd.DataFrame:
    """Return the table as the paper lays it out: a line for each problem and k, measured beside published numbers.

    Parameters
    ----------
    wide : DataFrame
        As `bias_variance` returns it or as its CSV is read back.

    Returns
    -------
    DataFrame
        Text cells. Columns of two levels: ("", "problem"), ("", "k"), ("", "n"), then for each kind of estimator
        variance, published, bias, published.
    """
    lines: dict[tuple, dict[tuple[str, str], str]] = {}
    for entry in _best_truth(wide).itertuples():
        k = None if pd.isna(entry.k) else int(entry.k)
        line = lines.setdefault((entry.row, k), {})
        line["", "problem"] = _problem(entry)
        line["", "k"], line["", "n"] = "" if k is None else str(k), str(entry.hidden)
        family = _family_label(entry.label, k)
        for quantity in ("variance", "bias"):
            line[family, quantity] = significant(getattr(entry, quantity))
            line[family, f"{quantity}, published"] = significant(getattr(entry, f"published_{quantity}"))
    table = pd.DataFrame(list(lines.values())).fillna("")
    table.columns = pd.MultiIndex.from_tuples(table.columns)
    # Without published numbers their columns are empty throughout and only take room.
    return table.loc[:, [not (name[1].endswith("published") and (table[name] == "").all()) for name in table.columns]]


def certainty_layout(wide: pd.DataFrame) -> pd.DataFrame:
    """Return what stands behind each bias: ground truth, floor, debiased value with its interval, spread over models.

    Returns
    -------
    DataFrame
        Text cells; one line for each row, estimator and ground truth.
    """
    lines = [
        {
            "problem": _problem(entry),
            "n": str(entry.hidden),
            "estimator": entry.label,
            "ground truth": GROUND_TRUTHS.get(entry.ground_truth, entry.ground_truth),
            "bias": significant(entry.bias),
            "floor": significant(entry.bias_floor),
            "debiased": significant(entry.bias_debiased),
            "interval": interval(entry.bias_low, entry.bias_high),
            "variance of the negative phase": significant(entry.variance_negative_phase),
            "models": str(entry.models),
            "spread of variance": significant(entry.variance_spread),
            "spread of bias": significant(entry.bias_spread),
        }
        for entry in wide.itertuples()
    ]
    table = pd.DataFrame(lines)
    optional = [name for name in table if name.startswith(("spread", "variance of"))]
    return table.drop(columns=[name for name in optional if (table[name] == "").all()])


def _problem(entry) -> str:
    """Return the name of a row's data, marked where it is a stand-in."""
    marked = isinstance(entry.stand_in, str) and entry.stand_in
    return f"{entry.data_title} (for {data_name(entry.stand_in)})" if marked else entry.data_title


def table_caption(spec_title: str) -> str:
    """Return the caption of a table of bias and variance."""
    return (
        f"{spec_title}. Variance and squared bias of the gradient estimated from one mini-batch, over the number of"
        " parameters; mean over the trained models. Bias is the raw value, against the exact expectation where it can"
        " be enumerated, else against parallel tempering (PT). A finite number of estimates puts a floor under it; the"
        " debiased value has the floor taken off, and an interval."
    )


def table_notes(wide: pd.DataFrame) -> list[str]:
    """Return one sentence for the scale and each way in which the table differs from the paper's."""
    notes = [f"Scale: {listed(sorted(wide['scale'].unique()))}; trained models a row: {_range(wide['models'])}."]
    notes += [f"Stand-in data: {phrase}." for phrase in stand_ins(wide)]
    for row, lines in wide.groupby("row", sort=False):
        first = lines.iloc[0]
        cut = [phrase for name, what in BUDGETS.items() for phrase in cuts(*_known(first, name), what)]
        notes += [f"{first['data_title']}, n = {first['hidden']} ({row}): {listed(cut)}."] if cut else []
    return notes


def _known(line: pd.Series, name: str) -> list[float | None]:
    """Return the budget of a line and the paper's, None where unknown."""
    return [None if pd.isna(value) else value for value in (line[name], line[f"paper_{name}"])]


def _range(numbers: pd.Series) -> str:
    """Return "1", or "1 to 5" when the numbers differ."""
    low, high = numbers.min(), numbers.max()
    return count(low) if low == high else f"{count(low)} to {count(high)}"


def write_csv(wide: pd.DataFrame, path: str | PathLike) -> None:
    """Write a frame as CSV with every digit."""
    with replaced(path) as temporary:
        wide.to_csv(temporary, index=False, lineterminator="\n")


def write_markdown(spec: TableSpec, wide: pd.DataFrame, path: str | PathLike) -> None:
    """Write the table, what stands behind its numbers, and its notes as Markdown."""
    table = paper_layout(wide)
    table.columns = [" ".join(filter(None, name)) for name in table.columns]
    parts = [
        f"# {spec.number} of {spec.paper}{spec.lacks}: {spec.title}",
        table_caption(spec.title),
        markdown_table(table),
        "## How sure the biases are",
        markdown_table(certainty_layout(wide)),
        "\n".join(f"- {note}" for note in table_notes(wide)),
    ]
    with replaced(path) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def markdown_table(table: pd.DataFrame) -> str:
    """Return text cells as a Markdown table; numbers stay as they are written."""
    return tabulate(table, headers="keys", tablefmt="pipe", showindex=False, disable_numparse=True)


def write_tex(spec: TableSpec, wide: pd.DataFrame, path: str | PathLike) -> None:
    """Write the table and what stands behind its numbers as two LaTeX tabulars (package booktabs) in one table."""
    paper = paper_layout(wide).rename(columns=lambda name: tex_text(name))
    certainty = certainty_layout(wide).rename(columns=tex_text)
    tabulars = [
        table.map(tex_text)
        .style.hide(axis="index")
        .to_latex(hrules=True, multicol_align="c", column_format=first + rest)
        for table, first in ((paper, "l"), (certainty, "lrll"))
        for rest in ["r" * (table.shape[1] - len(first))]
    ]
    # Beside its number a published one needs no long name, which would make the table too wide for a page.
    tabulars = [re.sub(r"(variance|bias), published", "published", tabular) for tabular in tabulars]
    notes = " ".join(tex_text(note) for note in table_notes(wide))
    text = "\n".join(
        [
            r"\begin{table}",
            r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
            rf"\caption{{{tex_text(table_caption(spec.title))}}}",
            rf"\label{{tab:{spec.key}}}",
            tabulars[0] + r"\par\medskip",
            tabulars[1] + r"\par\medskip",
            notes,
            r"\end{table}",
        ]
    )
    with replaced(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def tex_text(text: str) -> str:
    """Return text as LaTeX: special characters escaped, numbers with an exponent as powers of ten."""
    text = re.sub(r"([&%_#$])", r"\\\1", text).replace("\N{NO-BREAK SPACE}", "~")
    return re.sub(r"(-?\d\.\d+)e([+-])0*(\d+)", lambda m: rf"${m[1]} \times 10^{{{m[2].strip('+')}{m[3]}}}$", text)
