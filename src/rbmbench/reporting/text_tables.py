# SPDX-License-Identifier: BSD-3-Clause
"""Tables as text: numbers in few digits, and whole tables as CSV, Markdown and LaTeX."""

import math
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from itertools import groupby
from os import PathLike

import pandas as pd
from tabulate import tabulate

from rbmbench.io.atomic import replaced, write_text
from rbmbench.planning.chart import Table, TablePart

TEX = str.maketrans(
    {character: f"\\{character}" for character in "&%_#${}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\N{NO-BREAK SPACE}": "~"}
)
"""Special characters of LaTeX, and blanks without a line break."""
LONGEST = 1e6
"""Numbers from this one on have a power of ten."""
WIDEST = 3
"""Largest difference of the powers of ten of the numbers of a column with a common power."""


def significant(value: float | None, digits: int = 3) -> str:
    """Return a number with some significant digits, "" for none: "5.35e-05" for 5.34874e-05, "8950" for 8953.4."""
    if value is None or pd.isna(value):
        return ""
    text = f"{value:#.{digits}g}".rstrip(".")
    return f"{float(text):.0f}" if "e+0" in text and abs(value) < LONGEST else text


def by_interval(value: float, low: float, high: float) -> str:
    """Return a number with digits by its interval: two of the interval's width, 2 to 6 in all."""
    if pd.isna(value) or not value or math.isinf(value) or not 0 < high - low < math.inf:
        return significant(value)
    digits = math.floor(math.log10(abs(value))) - math.floor(math.log10(high - low)) + 2
    return significant(value, min(max(digits, 2), 6))


def interval(low: float, high: float) -> str:
    """Return an interval in words, with the fewest digits with which its ends differ; "" without a finite end."""
    if pd.isna(low) or pd.isna(high) or (math.isinf(low) and math.isinf(high)):
        return ""
    if math.isinf(low):
        return f"{significant(high)} or less"
    if math.isinf(high):
        return f"{significant(low)} or more"
    ends = [(significant(low, digits), significant(high, digits)) for digits in range(3, 9)]
    return " to ".join(next((pair for pair in ends if pair[0] != pair[1]), ends[0]))


def write_csv(table: pd.DataFrame, path: str | PathLike) -> None:
    """Write a frame as CSV with every digit; `ResultsError` if the file cannot be written."""
    with replaced(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")


def part_of(caption: str, cells: pd.DataFrame, words: int, published: Mapping[str, str] | None = None) -> TablePart:
    """Return a part of a table from text cells; its first ``words`` columns are words, the others numbers.

    ``published`` has the name of the column of the published numbers by that of the measured ones.
    """
    names = [name if isinstance(name, tuple) else ("", name) for name in cells.columns]
    columns = [" ".join(filter(None, name)) for name in names]
    places = {columns.index(measured): columns.index(other) for measured, other in (published or {}).items()}
    groups = tuple(group for group, _ in names) if any(group for group, _ in names) else ()
    lines = tuple(tuple(map(str, line)) for line in cells.to_numpy().tolist())
    fields = {"columns": tuple(columns), "groups": groups, "words": words, "published": places}
    return TablePart(caption=caption, lines=lines, **fields)


def write_markdown(table: Table, path: str | PathLike) -> None:
    """Write a table with its captions and notes as Markdown."""
    first, *further = table.parts
    text = [f"# {table.heading}", first.caption, markdown_table(first)]
    for part in further:
        text += [f"## {part.caption}", markdown_table(part)]
    write_text("\n\n".join([*text, "\n".join(f"- {note}" for note in table.notes)]), path)


def markdown_table(part: TablePart) -> str:
    """Return a part as a Markdown table; numbers are not reformatted."""
    head, *lines = ([cell.replace("|", r"\|") for cell in line] for line in (part.columns, *part.lines))
    return tabulate(lines, headers=head, tablefmt="pipe", disable_numparse=True)


def write_tex(table: Table, path: str | PathLike) -> None:
    """Write each part of a table as a separate LaTeX table, no wider than a line; the notes are below the last."""
    text = ["% Needs \\usepackage{booktabs,graphicx,siunitx}."]
    for number, part in enumerate(table.parts, start=1):
        notes = " ".join(tex_text(note) for note in table.notes) if part is table.parts[-1] else ""
        text += [
            r"\begin{table}",
            r"\centering\footnotesize\setlength{\tabcolsep}{4pt}",
            rf"\caption{{{tex_text(part.caption)}}}",
            rf"\label{{tab:{table.key}{'' if number == 1 else f'-{number}'}}}",
            # Only a table that is too wide is made smaller.
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            _tabular(part) + "}",
            *([rf"\par\medskip\raggedright {notes}"] if notes else []),
            r"\end{table}",
        ]
    write_text("\n".join(text), path)


def _tabular(part: TablePart) -> str:
    """Return a tabular: words to the left, numbers as columns of siunitx, aligned at the decimal point."""
    groups, heads, formats, columns = part.groups or ("",) * len(part.columns), [], [], []
    for place, (group, column) in enumerate(zip(groups, part.columns, strict=True)):
        # A published number is beside the measured one, and needs no long name.
        name = column.removeprefix(f"{group} " if group else "")
        name = tex_text(re.sub(r"^(variance|bias), published$", "published", name))
        cells = [line[place] for line in part.lines]
        numbers = None if place < part.words else _number_column(cells)
        if numbers:
            power, form, cells = numbers
            heads.append(f"{{{name}{f' ($10^{{{power}}}$)' if power else ''}}}")
            formats.append(form)
        else:
            cells = [tex_text(cell) for cell in cells]
            heads.append(name)
            formats.append("l" if place < part.words else "r")
        columns.append(cells)
    lines = []
    if any(groups):
        parts = [(name, len(list(same))) for name, same in groupby(groups)]
        spans = [rf"\multicolumn{{{length}}}{{c}}{{{tex_text(name)}}}" for name, length in parts]
        lines = [" & ".join(spans) + r" \\"]
    rows = [" & ".join(row) + r" \\" for row in zip(*columns, strict=True)]
    body = [*lines, " & ".join(heads) + r" \\", r"\midrule", *rows]
    return "\n".join(
        [rf"\begin{{tabular}}{{{''.join(formats)}}}", r"\toprule", *body, r"\bottomrule", r"\end{tabular}"]
    )


def _number_column(cells: list[str]) -> tuple[int, str, list[str]] | None:
    """Return the common power of ten of a column, its siunitx format, and the cells; None for words.

    If numbers differ by more than `WIDEST`, each has a separate power, and the common one is 0.
    """
    try:
        numbers = [Decimal(cell) if cell else None for cell in cells]
    except InvalidOperation:
        return None
    sizes = [number.adjusted() for number in numbers if number]
    if not sizes:
        return None
    sign = "-" * any(number < 0 for number in numbers if number)
    if max(sizes) - min(sizes) > WIDEST:
        texts = [f"{number:e}" if number is not None else "" for number in numbers]
        digits = max(len(cell.partition("e")[0].partition(".")[2]) for cell in texts)
        return 0, f"S[table-format={sign}1.{digits}e-2]", texts
    power = 0 if min(sizes) >= -2 and max(sizes) <= 4 else max(sizes)
    texts = [f"{number.scaleb(-power):f}" if number is not None else "" for number in numbers]
    whole, digits = (max(len(cell.partition(".")[place].strip("-")) for cell in texts) for place in (0, 2))
    return power, f"S[table-format={sign}{whole}.{digits}]", texts


def tex_text(text: str) -> str:
    """Return text as LaTeX: special characters escaped, numbers with an exponent as powers of ten."""
    text = text.translate(TEX)
    return re.sub(r"(-?\d\.\d+)e([+-])0*(\d+)", lambda m: rf"${m[1]} \times 10^{{{m[2].strip('+')}{m[3]}}}$", text)
