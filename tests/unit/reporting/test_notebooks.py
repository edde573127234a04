# SPDX-License-Identifier: BSD-3-Clause
"""Notebook templates, their execution, logs of failures, and pages of executed notebooks."""

import json
import random
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest
from reporting_results import figure, numbers, rising, table

from rbmbench import kinds
from rbmbench.base.errors import ResultsError, SettingsError

nbformat = pytest.importorskip("nbformat", reason="notebooks need the extra 'workflow'")
pytest.importorskip("papermill", reason="notebooks need the extra 'workflow'")

from rbmbench.reporting.page import notebooks  # noqa: E402
from rbmbench.reporting.page.notebooks import run_notebook  # noqa: E402

ELSEWHERE = ("claims", "coupling_times", "figure", "isl_curves", "run_times", "sample_sheets", "step_times", "table")
"""Templates without trained models, or with other initial parameters than the usual ones."""
NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"
TEMPLATES = sorted(NOTEBOOKS.glob("*.ipynb"))


def notebook(path: Path, *sources: str) -> Path:
    """Write a notebook whose first cell is the parameters."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_templates_are_those_of_kinds_and_general_ones():
    names, general = {path.stem for path in TEMPLATES}, {"benchmarks", "claims", "figure", "table"}
    assert general < names
    # The kinds of an arena and that of learned images use the general templates.
    own = {kind for kind in kinds.REGISTRY.names() if not kind.startswith("arena_")} - {"learned_images"}
    assert names - general == own


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_template_is_clean(path):
    content = nbformat.read(path, as_version=4)
    nbformat.validate(content)
    code = [cell for cell in content.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert [cell.metadata.get("tags") for cell in code].count(["parameters"]) == 1
    assert content.cells[0].cell_type == "markdown"
    # Templates of trained models name the initial parameters.
    assert ("[−0.1, 0.1]" in content.cells[0].source) == (path.stem not in ELSEWHERE)
    # The code of a template is a few calls into the package.
    assert max(len(cell.source.splitlines()) for cell in code) <= 10


FIGURE, TABLE = ("pdf", "png", "svg", "md", "csv"), ("csv", "md", "tex")


def executed(folder: Path, template: str, spec: dict, endings) -> tuple[dict[str, Path], str]:
    """Return the files that a template writes for a spec, by ending, and its page."""
    folder.mkdir()
    (folder / "spec.json").write_text(json.dumps(spec))
    files = {ending: folder / f"made.{ending}" for ending in endings}
    values = {"spec": str(folder / "spec.json")} | {ending: str(file) for ending, file in files.items()}
    run_notebook(NOTEBOOKS / f"{template}.ipynb", values, folder / "out/made.ipynb", folder / "out/made.html")
    return files, (folder / "out/made.html").read_text()


def test_template_of_learning_curves_writes_figure_and_page(tmp_path):
    spec = figure(tmp_path, {"a": {"curves": {"cd_1": rising(-5.0), "pop_cd_1": rising(-4.0)}}})
    files, page = executed(tmp_path / "made", "learning_curves", spec, FIGURE)
    assert files["pdf"].read_bytes().startswith(b"%PDF")
    assert files["png"].read_bytes().startswith(b"\x89PNG")
    summary = pd.read_csv(files["csv"])
    assert len(summary) == 2 * 41
    assert summary["mean"].iloc[-1] == pytest.approx(rising(-4.0)[:, -1].mean())
    out = tmp_path / "made" / "out"
    assert any(output.get("data", {}).get("image/png") for output in outputs(out / "made.ipynb"))
    assert "Figure 1 of popcd" in page
    assert sorted(path.name for path in out.iterdir()) == ["made.html", "made.ipynb"]


@pytest.mark.slow
def test_templates_of_tables_claims_and_stopping_times_write_files(tmp_path):
    from unit.kinds.test_coupling_times import coupling_figure
    from unit.kinds.test_run_times import times_table
    from unit.kinds.test_step_times import step_table

    shown = table(tmp_path, {"r": {"cd_1": [numbers(1e-4, 2e-2, 1e-3)], "pop_cd_1": [numbers(1e-3, 1e-4, 1e-6)]}})
    steps = step_table(tmp_path, {"fig1.a": {"cd_1": [0.1], "pop_cd_1": [0.3]}})
    tables = {"bias_variance": shown, "run_times": times_table(tmp_path), "step_times": steps}
    for (template, spec), words in zip(tables.items(), ("| Toy & Bars", "| UCD", "| pop-CD-1"), strict=True):
        files, _ = executed(tmp_path / template, template, spec, TABLE)
        assert words in files["md"].read_text()
    claim = {"id": "popcd_6.r", "where": "Table 1", "text": "smaller", "kind": "variance_ratio", "below": 1.0}
    claim |= {"entry": "table1.r.cd_1", "against": "table1.r.pop_cd_1"}
    spec = {"scale": "tiny", "outputs": [shown], "claims": {"popcd": {"claims": [claim]}}}
    files, page = executed(tmp_path / "claims", "claims", spec, ["csv"])
    assert pd.read_csv(files["csv"])["verdict"].tolist() == ["reproduced"]
    assert "popcd_6: 1 of 1 reproduced" in page
    times = coupling_figure(tmp_path, general=[3, 29, 5], rbm=[1, 2, 2])
    files, page = executed(tmp_path / "times", "coupling_times", times, FIGURE)
    assert pd.read_csv(files["csv"])["chains"].sum() == 6
    assert "Figure 5 of ucd" in page


def outputs(path: Path) -> list:
    """Return all outputs of a notebook's cells."""
    content = nbformat.read(path, as_version=4)
    return [output for cell in content.cells if cell.cell_type == "code" for output in cell.outputs]


def test_outputs_of_a_cell_are_kept_in_order(tmp_path):
    lines = "import sys", "print('a')", "print('b')", "print('c', file=sys.stderr)", "display(a)", "print('d')"
    template = notebook(tmp_path / "template.ipynb", "a = 1", "\n".join((*lines, "a + 4", "a + 4")))
    run_notebook(template, {"a": 7}, tmp_path / "a.ipynb", tmp_path / "a.html")
    content = nbformat.read(tmp_path / "a.ipynb", as_version=4)
    nbformat.validate(content)
    shown = outputs(tmp_path / "a.ipynb")
    contents = [(o.output_type, o.get("name"), o.get("text") or o.data["text/plain"]) for o in shown]
    assert contents == [
        ("stream", "stdout", "a\nb\n"),
        ("stream", "stderr", "c\n"),
        ("display_data", None, "7"),
        ("stream", "stdout", "d\n"),
        ("execute_result", None, "11"),
    ]
    assert [cell.execution_count for cell in content.cells if cell.cell_type == "code"] == [1, 2, 3]


def test_a_notebook_does_not_change_the_state_of_the_process(tmp_path):
    before = sys.stdout, sys.stderr, sys.displayhook, sys.excepthook, sys.modules["__main__"], warnings.filters[:]
    template = notebook(tmp_path / "template.ipynb", "a = 1", "import warnings\nwarnings.simplefilter('error')\na")
    for a in (2, 3):
        run_notebook(template, {"a": a}, tmp_path / "a.ipynb", tmp_path / "a.html")
        assert outputs(tmp_path / "a.ipynb")[-1].data["text/plain"] == str(a)
    last = notebook(tmp_path / "last.ipynb", "b = 1", "a")
    with pytest.raises(ResultsError, match="NameError"):
        run_notebook(last, {"b": 2}, tmp_path / "a.ipynb", tmp_path / "a.html")
    after = sys.stdout, sys.stderr, sys.displayhook, sys.excepthook, sys.modules["__main__"], warnings.filters[:]
    assert after == before


def test_an_interrupt_stops_the_notebook(tmp_path):
    template = notebook(tmp_path / "template.ipynb", "a = 1", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        run_notebook(template, {"a": 2}, tmp_path / "a.ipynb", tmp_path / "a.html")
    assert not (tmp_path / "a.html").exists()


def test_failure_raises_a_one_line_error_and_writes_a_log(tmp_path):
    template = notebook(tmp_path / "template.ipynb", "a = 1", "print('so far')", "raise ValueError('no\\nluck')")
    out, log = tmp_path / "executed.ipynb", tmp_path / "logs" / "run.ipynb"
    with pytest.raises(ResultsError) as error:
        run_notebook(template, {"a": 2}, out, tmp_path / "page.html", log)
    assert str(error.value) == f"{template}: ValueError: no luck (see {log})"
    assert "so far" in json.dumps(outputs(log))
    assert not out.exists()
    assert not (tmp_path / "page.html").exists()


def test_files_of_the_working_folder_do_not_shadow_modules(tmp_path, monkeypatch):
    for name in ("random", "code", "json"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('taken for a module of Python')")
    monkeypatch.chdir(tmp_path)
    template = notebook(tmp_path / "template.ipynb", "a = 1", "import random\nprint(random.Random(a).random())")
    run_notebook(template, {"a": 2}, tmp_path / "executed.ipynb", tmp_path / "page.html")
    assert outputs(tmp_path / "executed.ipynb")[-1]["text"] == f"{random.Random(2).random()}\n"


def test_missing_template_raises_a_one_line_error(tmp_path):
    with pytest.raises(ResultsError, match=r"gone\.ipynb: is missing"):
        run_notebook(tmp_path / "gone.ipynb", {}, tmp_path / "a.ipynb", tmp_path / "a.html")


@pytest.mark.parametrize("content", [b"\x8f\x00", b"{}", b'{"cells": 3, "nbformat": 4}', b"[" * 5000])
def test_invalid_template_raises_a_one_line_error(tmp_path, content):
    (tmp_path / "odd.ipynb").write_bytes(content)
    with pytest.raises(ResultsError, match=r"odd\.ipynb: cannot be read"):
        run_notebook(tmp_path / "odd.ipynb", {}, tmp_path / "a.ipynb", tmp_path / "a.html")
    assert [file.name for file in tmp_path.iterdir()] == ["odd.ipynb"]


@pytest.mark.parametrize("name", ["import os; os.mkdir('made'); a", "a\nb", "a.b", "for", ""])
def test_invalid_names_of_parameters_raise(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    template = notebook(tmp_path / "template.ipynb", "a = 1")
    with pytest.raises(SettingsError, match="no name of a variable"):
        run_notebook(template, {name: "1"}, tmp_path / "a.ipynb", tmp_path / "a.html")
    assert not (tmp_path / "made").exists()


def test_name_of_a_log_may_have_braces(tmp_path):
    template, log = notebook(tmp_path / "template.ipynb", "a = 1", "1 / 0"), tmp_path / "{a}.ipynb"
    with pytest.raises(ResultsError, match=r"ZeroDivisionError: .* \(see .*\{a\}\.ipynb\)"):
        run_notebook(template, {"a": 2}, tmp_path / "a.ipynb", tmp_path / "a.html", log)
    assert log.is_file()


def test_a_page_shows_outputs_without_scripts(tmp_path):
    script, event = "<script>alert(1)</script>", '<img src="x" onerror="alert(1)">'
    link, address = "[good](javascript:alert(1))", '<a href="java&#115;cript:alert(1)">bad</a> <a href="#end">end</a>'
    cells = [nbformat.v4.new_markdown_cell(f"# A title {script}"), nbformat.v4.new_code_cell("1")]
    table = "<style>td {width: 7917px}</style><table><tr><td colspan=2 onclick='alert(1)'>cell</td></tr></table>"
    for kind, text in (("markdown", f"## **1 < 2** {event} {link}"), ("html", f"{address}{script}{table}")):
        cells[1].outputs.append(nbformat.v4.new_output("display_data", {f"text/{kind}": text}))
    cells[1].outputs.append(nbformat.v4.new_output("display_data", {"application/javascript": "alert(7)"}))
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "executed.ipynb")
    page = notebooks._page(tmp_path / "executed.ipynb")
    unsafe = ("<script>alert", '<img src="x"', "javascript:alert", "&#115;cript", "alert(7)", "7917px", "onclick=")
    assert [text for text in unsafe if text in page] == []
    safe = ("A title", "<strong>1 &lt; 2</strong>", '<a href="#end">', '<td colspan="2">cell')
    assert [text for text in safe if text not in page] == []
