# SPDX-License-Identifier: BSD-3-Clause
"""Drawing again: pictures, captions and tables of results, live or kept, from their charts and tables."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from matplotlib.image import imread

from rbmbench.io.layout import PICTURE_ENDINGS, Layout
from rbmbench.io.results import reading
from rbmbench.planning.chart import Table
from rbmbench.reporting import charts, style, text_tables


def redraw(root: str | Path, key: str, out: str | Path, sheet: style.Sheet = style.PAGE) -> bool:
    """Draw a figure, or write a table, in ``root`` again, into ``out``.

    Returns False for a kept figure without its images, whose caption is written. `ResultsError` or `SettingsError` if
    its chart or its table is missing or damaged.
    """
    source, target = Layout(str(root)), Layout(str(out))
    item = charts.read_shown(source, key)
    if isinstance(item, Table):
        text_tables.write_markdown(item, target.table(key, "md"))
        text_tables.write_tex(item, target.table(key, "tex"))
        return True
    pictures = {ending: target.figure(key, ending) for ending in PICTURE_ENDINGS}
    return charts.write_pictures(item, sheet, md=target.figure(key, "md"), **pictures)


def is_current(root: Path, key: str) -> bool:
    """Return whether captions, tables and PNGs of a figure or a table would not change if drawn again."""
    with TemporaryDirectory() as folder:
        redraw(root, key, folder)
        files = [file for file in Path(folder).glob("*/*") if file.suffix in (".md", ".tex", ".png")]
        pairs = [(_content(file), _content(root / file.relative_to(folder))) for file in files]
    # Another processor may round pixels to another level.
    return all(new.shape == old.shape and np.allclose(new, old, rtol=0, atol=8 / 255) for new, old in pairs)


def _content(file: Path) -> np.ndarray:
    """Return the pixels of a PNG, from 0 to 1, or the bytes of another file."""
    with reading(file):
        return imread(file) if file.suffix == ".png" else np.frombuffer(file.read_bytes(), np.uint8)
