# SPDX-License-Identifier: BSD-3-Clause
"""Pictures as addresses that hold them."""

import base64
import io

import numpy as np


def address(colours: np.ndarray) -> str:
    """Return colours, uint8 (height, width, 3), as the address of a WebP picture without loss."""
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(colours)).save(content, "WEBP", lossless=True, quality=100, method=6)
    return f"data:image/webp;base64,{base64.b64encode(content.getvalue()).decode()}"
