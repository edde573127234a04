# SPDX-License-Identifier: BSD-3-Clause
"""Run a notebook template with parameters by papermill, and make a page of it."""

import os
import shutil
import warnings
from collections.abc import Mapping
from keyword import iskeyword
from pathlib import Path
from typing import Any

from rbmbench.base.errors import ResultsError, SettingsError
from rbmbench.io.atomic import remove, remove_leftovers, replaced, writable
from rbmbench.io.guard import bounded_bytes, one_line
from rbmbench.io.locks import locked
from rbmbench.io.results import reading

MOST_TEMPLATE_BYTES = 2**24
TEXT_ELEMENTS = "a b blockquote br code div em h1 h2 h3 h4 h5 h6 hr i li ol p pre small span strong sub sup ul"
TABLE_ELEMENTS = "caption col colgroup table tbody td tfoot th thead tr"
SHOWN_ATTRIBUTES = {"*": {"class", "id", "style", "scope", "colspan", "rowspan", "aria-hidden"}, "a": {"href"}}
SHOWN_STYLES = {"background-color", "color", "font-style", "font-weight", "text-align", "white-space"}
"""Elements, attributes and styles that a page keeps of the HTML in a notebook's outputs."""


def run_notebook(
    template: str | os.PathLike,
    parameters: Mapping[str, object],
    executed: str | os.PathLike,
    html: str | os.PathLike,
    log: str | os.PathLike | None = None,
) -> None:
    """Run a template and write the executed notebook and the page made of it.

    While it runs, the notebook is written to ``log``. If a cell fails it remains there; otherwise it is moved to
    ``executed``, so that executed notebooks have no errors.

    Parameters
    ----------
    template : path
        A notebook with a cell tagged "parameters".
    parameters : mapping
        Replaces the values of that cell; plain data.
    executed, html : path
        The files to write. ``executed`` is locked meanwhile; for errors see `rbmbench.io.locks.locked`.
    log : path, optional
        By default ``executed`` with the ending ``.log.ipynb``. The `ResultsError` of a cell that fails names it.
    """
    template, executed = Path(template), Path(executed)
    log = Path(log) if log else executed.with_suffix(".log.ipynb")
    with reading(template), warnings.catch_warnings(action="ignore"):
        content = _notebook(bounded_bytes(template, MOST_TEMPLATE_BYTES))
    for name in parameters:  # each is a line of code, NAME = VALUE
        if not name.isidentifier() or iskeyword(name):
            raise SettingsError(f"parameter {name!r}: is no name of a variable of a notebook")
    for file in (log, executed, html):
        writable(file)
    with locked(executed):
        try:
            for file in (executed, html):
                remove_leftovers(file)
            log.parent.mkdir(parents=True, exist_ok=True)
            _execute(template, content, parameters, log)
            with replaced(html) as temporary:
                temporary.write_text(_page(log), encoding="utf-8")
            with replaced(executed) as temporary:
                shutil.copyfile(log, temporary)
            remove(log)
        except OSError as error:
            raise ResultsError(f"{log}: cannot be written ({error.strerror or error})") from error


@one_line
def _notebook(content: bytes) -> Any:
    import nbformat

    notebook = nbformat.reads(content.decode(), as_version=4)
    nbformat.validate(notebook)
    return notebook


def _execute(template: Path, content: Any, parameters: Mapping[str, object], log: Path) -> None:
    """Run the template in this process, writing to ``log`` after every cell."""
    import papermill
    from papermill.engines import papermill_engines
    from papermill.exceptions import PapermillExecutionError

    from rbmbench.reporting.page.engine import OwnProcess

    papermill_engines.register(OwnProcess.__name__, OwnProcess)
    try:
        papermill.execute_notebook(
            content,
            # Papermill fills in names in braces.
            str(log).replace("{", "{{").replace("}", "}}"),
            parameters=dict(parameters),
            engine_name=OwnProcess.__name__,
            kernel_name="python3",
            language="python",
            progress_bar=False,
        )
    except PapermillExecutionError as error:
        reason = " ".join(str(error.evalue).split())
        raise ResultsError(f"{template}: {error.ename}: {reason} (see {log})") from None


def _page(notebook: Path) -> str:
    """Return an executed notebook as one self-contained HTML page, without the scripts of its outputs.

    Titles, labels and names of data are part of Markdown and HTML: harmless elements and addresses are kept, the tags
    of all others are dropped.
    """
    with warnings.catch_warnings(action="ignore"):
        from nbconvert import HTMLExporter

        urls = dict.fromkeys(("mathjax_url", "require_js_url", "jquery_url", "mermaid_js_url"), "")
        page, _ = HTMLExporter(**urls, sanitize_html=True, filters=FILTERS).from_filename(str(notebook))
    return page


def _harmless(html: object) -> str:
    from nh3 import clean

    elements = {*TEXT_ELEMENTS.split(), *TABLE_ELEMENTS.split()}
    return clean(str(html), elements, attributes=SHOWN_ATTRIBUTES, filter_style_properties=SHOWN_STYLES, link_rel=None)


FILTERS = {"clean_html": _harmless}
