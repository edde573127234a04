# SPDX-License-Identifier: BSD-3-Clause
"""Drawing again: pictures, captions and tables of results, live or kept, from their charts and tables alone."""

from pathlib import Path

from rbmbench.io.layout import PICTURE_ENDINGS, Layout
from rbmbench.planning.chart import Table
from rbmbench.reporting import charts, style, text_tables


def redraw(root: str | Path, key: str, out: str | Path, sheet: style.Sheet = style.PAGE) -> bool:
    """Draw a figure, or lay out a table, from what is in ``root`` again, into ``out``.

    Returns
    -------
    bool
        False for a kept figure without its images; its caption is written.

    Raises
    ------
    ResultsError, SettingsError
        If its chart or its table is missing or damaged.
    """
    source, target = Layout(str(root)), Layout(str(out))
    shown = charts.read_shown(source, key)
    if isinstance(shown, Table):
        text_tables.write_markdown(shown, target.table(key, "md"))
        text_tables.write_tex(shown, target.table(key, "tex"))
        return True
    pictures = {ending: target.figure(key, ending) for ending in PICTURE_ENDINGS}
    return charts.write_pictures(shown, sheet, md=target.figure(key, "md"), **pictures)
