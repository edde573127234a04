# SPDX-License-Identifier: BSD-3-Clause
"""Table of bias and variance: layout, numbers, notes and formats."""

import shutil
import subprocess

import pandas as pd
import pytest
from reporting_results import cells_of, differences, numbers, stand_in, table

from rbmbench.base.parsing import parse
from rbmbench.kinds.bias_variance import BiasVarianceSpec
from rbmbench.planning.chart import TablePart
from rbmbench.reporting import charts, text_tables

PUBLISHED = {
    "estimates": 50000,
    "iterations": {"toy_3": 10000},
    "entries": [
        {"row": "toy_3", "algorithm": "cd_1", "variance": 5.34874e-05, "bias": 0.0242761},
        {"row": "toy_3", "algorithm": "pop_cd_1", "variance": 0.000527033, "bias": 0.000156001},
    ],
}
ROWS = {
    "toy_3": {
        "cd_1": [
            numbers(1e-4, 2e-2, 1e-3) | numbers(1e-4, 3e-2, 1e-3, "parallel_tempering"),
            numbers(3e-4, 4e-2, 1e-3) | numbers(3e-4, 5e-2, 1e-3, "parallel_tempering"),
        ],
        "pop_cd_1": [numbers(1e-3, 1e-4, 1e-6), numbers(1e-3, 1e-4, 1e-6)],
    }
}
SETTINGS = {"iterations": 4000, "estimate.estimates": 2000}
PAPER_SETTINGS = {"iterations": 10000, "estimate.estimates": 50000}


def wide_of(spec) -> pd.DataFrame:
    return spec.numbers(spec.read())


def paper_layout(spec, wide=None) -> pd.DataFrame:
    return cells_of(spec.table(wide_of(spec) if wide is None else wide).parts[0])


def certainty_layout(spec) -> pd.DataFrame:
    return cells_of(spec.table(wide_of(spec)).parts[1])


@pytest.fixture
def spec(tmp_path):
    changes = differences(SETTINGS, PAPER_SETTINGS, "toy_3")
    values = table(tmp_path, ROWS, published=PUBLISHED) | {"differences": changes}
    return parse(BiasVarianceSpec, values, "test")


def test_rows_name_their_own_number_of_samples(spec):
    (row,) = spec.rows
    more = spec.model_copy(update={"rows": (row, row.model_copy(update={"name": "toy_37", "samples": 37}))})
    assert paper_layout(more)["", "problem"].tolist() == ["Toy & Bars", "Toy & Bars, 37 samples"]


def test_csv_has_one_line_for_each_estimator_and_ground_truth(spec, tmp_path):
    wide = wide_of(spec)
    assert wide[["algorithm", "ground_truth", "models"]].to_numpy().tolist() == [
        ["cd_1", "exact", 2],
        ["cd_1", "parallel_tempering", 2],
        ["pop_cd_1", "exact", 2],
    ]
    first = wide.iloc[0]
    assert first["variance"] == pytest.approx(2e-4)
    assert first["variance_spread"] == pytest.approx(2**0.5 * 1e-4)
    assert (first["published_variance"], first["published_bias"]) == (5.34874e-05, 0.0242761)
    assert (first["iterations"], first["paper_iterations"]) == (4000, 10000)
    assert (first["estimates"], first["paper_estimates"]) == (2000, 50000)
    text_tables.write_csv(wide, tmp_path / "table.csv")
    read = pd.read_csv(tmp_path / "table.csv")
    assert read["bias_debiased"].tolist() == wide["bias_debiased"].tolist()
    pd.testing.assert_frame_equal(paper_layout(spec, read), paper_layout(spec, wide))


def test_paper_layout_prefers_the_exact_ground_truth(spec):
    layout = paper_layout(spec)
    assert len(layout) == 1
    line = layout.iloc[0]
    assert [line["", name] for name in ("problem", "k", "n")] == ["Toy & Bars", "1", "3"]
    assert [line["CD-k", name] for name in ("variance", "bias", "bias, published")] == ["0.000200", "0.0300", "0.0243"]
    assert line["pop-CD-k", "variance, published"] == "0.000527"


def test_table_without_published_numbers_has_no_empty_columns(tmp_path):
    layout = paper_layout(parse(BiasVarianceSpec, table(tmp_path, ROWS), "test"))
    assert [name for name in layout.columns if "published" in name[1]] == []


def test_certainty_has_floor_interval_and_spread(spec):
    certainty = certainty_layout(spec)
    assert certainty["ground truth"].tolist() == ["exact", "PT", "exact"]
    line = certainty.iloc[0]
    assert (line["floor"], line["debiased"], line["interval"]) == ("1.00e-06", "0.0300", "0.0290 to 0.0310")
    assert (line["models"], line["spread of bias"]) == ("2", "0.0141")
    assert line["variance of the negative phase"] == "0.000600"


def test_spread_is_left_out_for_single_models(tmp_path):
    rows = {"toy_3": {"cd_1": [numbers(1e-4, 2e-2, 1e-3)]}}
    certainty = certainty_layout(parse(BiasVarianceSpec, table(tmp_path, rows), "test"))
    assert not any(name.startswith("spread") for name in certainty)


def test_notes_name_scale_cuts_and_stand_ins(tmp_path):
    values = table(tmp_path, ROWS, published=PUBLISHED, meta=stand_in("letters"))
    values["rows"][0] |= {"ground_truth": {"samples": 500}}
    samples = "ground_truth.samples"
    values["differences"] = differences(SETTINGS | {samples: 500}, PAPER_SETTINGS | {samples: 200000}, "toy_3")
    spec = parse(BiasVarianceSpec, values, "test")
    notes = spec.table(wide_of(spec)).notes
    assert [note.replace("\N{NO-BREAK SPACE}", " ") for note in notes] == [
        "Scale: tiny; trained models per row: 2.",
        "Interval: mean of the intervals of the models; it holds for these models. Spread: over the models.",
        "Stand-in data: Digits 8x8 in place of Letters.",
        "Digits 8x8, n = 3 (toy_3): the intervals by PT and by the exact gradient are apart for CD-1; PT errs.",
        "Digits 8x8, n = 3 (toy_3): 4 000 of 10 000 training iterations, 2 000 of 50 000 estimates and 500 of 200 000 "
        "ground-truth samples of parallel tempering.",
    ]


def test_markdown_has_table_notes_and_numbers(spec, tmp_path):
    text_tables.write_markdown(charts.table_of(spec, wide_of(spec)), tmp_path / "table.md")
    text = (tmp_path / "table.md").read_text()
    assert text.startswith("# Table 1 of popcd: Bias\n")
    cells = [cell.strip() for cell in next(line for line in text.splitlines() if "Toy" in line).split("|")[1:-1]]
    published = ["5.35e-05", "0.0243", "0.000527", "0.000156"]
    measured = ["0.000200", "0.0300", "0.00100", "0.000101"]
    assert cells[:3] == ["Toy & Bars", "1", "3"]
    assert cells[3::2] == measured
    assert cells[4::2] == published
    assert "- Scale: tiny" in text


def test_bars_in_cells_of_markdown_are_escaped():
    part = TablePart(caption="", columns=("p(h|v)", "n"), words=1, lines=(("a|b", "1.50"),))
    head, _, line = text_tables.markdown_table(part).splitlines()
    assert [head.split(), line.split()] == [["|", r"p(h\|v)", "|", "n", "|"], ["|", r"a\|b", "|", "1.50", "|"]]


def test_tex_text_escapes_special_characters():
    assert text_tables.tex_text(r"\input{x}~^$_%&#") == (
        r"\textbackslash{}input\{x\}\textasciitilde{}\textasciicircum{}\$\_\%\&\#"
    )
    assert text_tables.tex_text("1.5e-07\N{NO-BREAK SPACE}%") == r"$1.5 \times 10^{-7}$~\%"


def test_tex_is_booktabs_with_escaped_text(spec, tmp_path):
    text_tables.write_tex(charts.table_of(spec, wide_of(spec)), tmp_path / "table.tex")
    text = (tmp_path / "table.tex").read_text()
    assert text.count(r"\begin{tabular}") == text.count(r"\bottomrule") == 2
    assert text.startswith("% Needs \\usepackage{booktabs,graphicx,siunitx}.")
    assert r"Toy \& Bars & 1 & 3 & 2.00 & 5.35" in text
    assert r"{variance ($10^{-4}$)} & {published ($10^{-5}$)}" in text
    assert r"(toy\_3): 4~000 of 10~000" in text
    lines = [line for line in text.splitlines() if line.startswith("Toy")]
    assert [line.count("&") - line.count(r"\&") for line in lines] == [10, 11, 11, 11]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5.34874e-05, "5.35e-05"),
        (0.0242761, "0.0243"),
        (123.0, "123"),
        (0.1, "0.100"),
        (8953.4, "8950"),
        (-999.9, "-1000"),
        (123456.0, "123000"),
        (1234567.0, "1.23e+06"),
        (None, ""),
        (float("nan"), ""),
    ],
)
def test_three_significant_digits(value, text):
    assert text_tables.significant(value) == text


def test_interval_has_enough_digits_to_distinguish_its_ends():
    assert text_tables.interval(0.023041, 0.023044) == "0.023041 to 0.023044"
    assert text_tables.interval(1.0, 2.0) == "1.00 to 2.00"
    assert text_tables.interval(0.5, 0.5) == "0.500 to 0.500"
    assert text_tables.interval(float("nan"), 1.0) == ""


@pytest.mark.parametrize(
    ("cells", "power", "form", "expected"),
    [
        (["0.0260", "1.59", ""], 0, "S[table-format=1.4]", ["0.0260", "1.59", ""]),
        (["6.93e-05", "0.000313"], -4, "S[table-format=1.3]", ["0.693", "3.13"]),
        (["-0.5", "2.25"], 0, "S[table-format=-1.2]", ["-0.5", "2.25"]),
        (["1.04e-10", "0.000585"], 0, "S[table-format=1.2e-2]", ["1.04e-10", "5.85e-4"]),
    ],
)
def test_numbers_of_a_column_share_a_power_of_ten(cells, power, form, expected):
    assert text_tables._number_column(cells) == (power, form, expected)


def test_words_are_no_column_of_numbers():
    assert text_tables._number_column(["1.00 to 2.00"]) is None
    assert text_tables._number_column(["", ""]) is None


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (0.0086123, 0.007, 0.0102, "0.0086"),
        (0.0333123, 0.033300, 0.033312, "0.033312"),
        (0.5, 0.5, 0.5, "0.500"),
        (0.5, -float("inf"), float("inf"), "0.500"),
    ],
)
def test_number_of_digits_depends_on_the_interval(value, low, high, text):
    assert text_tables.by_interval(value, low, high) == text


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX")
def test_tables_compile_in_an_article_without_overfull_boxes(repository, tmp_path):
    tables = sorted((repository / "results/reference").rglob("*.tex"))
    inputs = [rf"\input{{{table}}}\clearpage" for table in tables]
    head = [r"\documentclass{article}", r"\usepackage{booktabs,graphicx,siunitx}", r"\begin{document}"]
    (tmp_path / "all.tex").write_text("\n".join([*head, *inputs, r"\end{document}"]))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout


def test_evidence_is_relative_to_the_exact_ground_truth_if_there_is_one(spec):
    results = spec.read()
    assert spec.evidence(results, "toy_3.cd_1").ground_truth == "exact"
    assert set(spec.evidence(results, "toy_3.cd_1").frame["ground_truth"]) == {"exact"}
