# SPDX-License-Identifier: BSD-3-Clause
"""Filters and samples of models during training, as pictures in the page."""

import base64
import io

import numpy as np
import pandas as pd

from rbmbench.reporting import mosaics
from rbmbench.reporting.page.model import Snapshot


def snapshots(numbers: pd.DataFrame) -> tuple[Snapshot, ...]:
    """Return what models look like from the numbers behind a figure; () for a figure of something else.

    `ValueError` if a column holds what it should not; see `rbmbench.reporting.mosaics.snapshots`.
    """
    if "pixels" not in numbers:
        return ()
    found = [
        Snapshot(
            key=one.algorithm,
            label=one.label,
            iteration=one.iteration,
            largest=float(f"{one.largest:.2g}"),
            filters=_address(mosaics.picture_of(one.filters, mosaics.FILTER)),
            samples=_address(mosaics.picture_of(one.samples, mosaics.SAMPLE)),
        )
        for one in mosaics.snapshots(numbers)
    ]
    return tuple(found)


def _address(colours: np.ndarray) -> str:
    """Return colours (height, width, 3) as the address of a WebP picture without loss: there are few of them."""
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(colours)).save(content, "WEBP", lossless=True, quality=100, method=6)
    return f"data:image/webp;base64,{base64.b64encode(content.getvalue()).decode()}"
