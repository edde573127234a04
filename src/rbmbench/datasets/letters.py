# SPDX-License-Identifier: BSD-3-Clause
"""Letters: the handwritten lower-case letters of 16x8 binary pixels collected by R. Kassel, prepared by B. Taskar."""

import hashlib
from dataclasses import dataclass

import numpy as np

from rbmbench.base.errors import DataError
from rbmbench.datasets import REGISTRY, Dataset, _downloads
from rbmbench.datasets._formats import taskar_mat, taskar_text
from rbmbench.datasets._recipe import Recipe


@REGISTRY.register
@dataclass(frozen=True)
class Letters(Recipe):
    """All 52152 letters as training rows of 128 pixels, row-major.

    They come either from the original letter.data.gz or from ocr_taskar.mat, which holds the same images in another
    order. The rows are put in lexicographic order, so that both files give the same array.
    """

    image = (16, 8)

    def load(self, sources) -> Dataset:
        """Return the data set, downloading one of its two files if necessary."""
        entry = _downloads.catalogue()["letters"]

        def read(file, content: bytes, where: str) -> np.ndarray:
            reader = taskar_mat if file.name.endswith(".mat") else taskar_text
            rows = in_order(reader(file, content, where))
            # The sha256 of letter.data.gz is not published, so the rows are checked instead.
            digest = content_sha256(rows)
            if digest != entry.content_sha256:
                raise DataError(
                    f"{where}: must be the {entry.rows} letters, rows of sha256 {entry.content_sha256}, "
                    f"got {len(rows)} rows of sha256 {digest}"
                )
            return rows

        content, origin = _downloads.fetch_parts("letters", sources, read)
        return self.build(
            "Letters",
            **content,
            **origin,
            preprocessing="none: pixels row-major, rows in lexicographic order",
        )


def in_order(rows: np.ndarray) -> np.ndarray:
    """Return rows of bits, uint8 (rows, m), in lexicographic order, duplicates included."""
    packed = np.packbits(rows, axis=1)
    return rows[np.lexsort(packed.T[::-1])]


def content_sha256(rows: np.ndarray) -> str:
    """Return the sha256 of rows of bits, eight pixels per byte."""
    return hashlib.sha256(np.packbits(rows, axis=1).tobytes()).hexdigest()
