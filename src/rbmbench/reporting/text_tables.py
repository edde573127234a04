"""Tables as text: numbers in few digits, and whole tables as CSV, Markdown and LaTeX."""

import re
from os import PathLike

import pandas as pd
from tabulate import tabulate

from rbmbench.io.atomic import replaced
from rbmbench.planning.specs import TableSpec, TextPart, TextTable

TEX = str.maketrans(
    {character: f"\\{character}" for character in "&%_#${}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\N{NO-BREAK SPACE}": "~"}
)
"""What LaTeX would take for more than a character, and blanks that no line ends at."""


def significant(value: float | None, digits: int = 3) -> str:
    """Return a number with so many significant digits, "" for none: 5.34874e-05 gives "5.35e-05"."""
    return "" if value is None or pd.isna(value) else f"{value:#.{digits}g}".rstrip(".")


def interval(low: float, high: float) -> str:
    """Return an interval in words, with as many digits as tell its ends apart; "" when there is none."""
    if pd.isna(low) or pd.isna(high):
        return ""
    ends = [(significant(low, digits), significant(high, digits)) for digits in range(3, 9)]
    return " to ".join(next((pair for pair in ends if pair[0] != pair[1]), ends[0]))


def write_csv(table: pd.DataFrame, path: str | PathLike) -> None:
    """Write a frame as CSV with every digit; `ResultsError` if the file cannot be written."""
    with replaced(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")


def write_text(text: str, path: str | PathLike) -> None:
    """Write a text; `ResultsError` if the file cannot be written."""
    with replaced(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def write_markdown(spec: TableSpec, table: TextTable, path: str | PathLike) -> None:
    """Write a table with its captions and notes as Markdown."""
    first, *others = table.parts
    text = [f"# {spec.number} of {spec.paper}{spec.lacks}: {spec.title}", first.caption, markdown_table(first.flat)]
    for part in others:
        text += [f"## {part.caption}", markdown_table(part.flat)]
    write_text("\n\n".join([*text, "\n".join(f"- {note}" for note in table.notes)]), path)


def markdown_table(table: pd.DataFrame) -> str:
    """Return text cells as a Markdown table; numbers stay as they are written."""
    return tabulate(table, headers="keys", tablefmt="pipe", showindex=False, disable_numparse=True)


def write_tex(spec: TableSpec, table: TextTable, path: str | PathLike) -> None:
    """Write all parts of a table as tabulars (package booktabs) in one LaTeX table."""
    tabulars = [_tabular(part) + r"\par\medskip" for part in table.parts]
    text = [
        r"\begin{table}",
        r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
        rf"\caption{{{tex_text(table.parts[0].caption)}}}",
        rf"\label{{tab:{spec.key}}}",
        *tabulars,
        " ".join(tex_text(note) for note in table.notes),
        r"\end{table}",
    ]
    write_text("\n".join(text), path)


def _tabular(part: TextPart) -> str:
    shown = part.cells.rename(columns=tex_text).map(tex_text).style.hide(axis="index")
    columns = "l" * part.words + "r" * (part.cells.shape[1] - part.words)
    text = shown.to_latex(hrules=True, multicol_align="c", column_format=columns)
    # Beside its number a published one needs no long name, which would make the table too wide for a page.
    return re.sub(r"(variance|bias), published", "published", text)


def tex_text(text: str) -> str:
    """Return text as LaTeX: special characters escaped, numbers with an exponent as powers of ten."""
    text = text.translate(TEX)
    return re.sub(r"(-?\d\.\d+)e([+-])0*(\d+)", lambda m: rf"${m[1]} \times 10^{{{m[2].strip('+')}{m[3]}}}$", text)
