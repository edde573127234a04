# SPDX-License-Identifier: BSD-3-Clause
"""Readers of published file formats: from the bytes of a file to an array, or a DataError of one line.

Every reader takes the declared file, its bytes, and their path or address, which begins the message of the error.
"""

import zlib
from io import BytesIO

import numpy as np

from rbmbench.base.errors import DataError
from rbmbench.io.arrays import npz_arrays, text_array
from rbmbench.io.guard import UnreadableError, one_line

GZIP = b"\x1f\x8b"
"""First bytes of a gzip file."""
PIXELS = 128
GREY_PIXELS = 256
IMAGE = 28
WIDTH, HEIGHT = 8, 16


def gunzip(file, content: bytes, where: str) -> bytes:
    """Return the content of a gzip file, at most ``file.unpacked_bytes``."""
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        unpacked = unpacker.decompress(content, file.unpacked_bytes + 1)
    except zlib.error as error:
        raise DataError(f"{where}: not a gzip file, or damaged ({error})") from None
    if len(unpacked) > file.unpacked_bytes:
        raise DataError(f"{where}: unpacks to more than the {file.unpacked_bytes} bytes allowed")
    if not unpacker.eof:
        raise DataError(f"{where}: truncated gzip file")
    if unpacker.unused_data:
        raise DataError(f"{where}: {len(unpacker.unused_data)} bytes follow the end of the gzip data")
    return unpacked


def idx_images(file, content: bytes, where: str) -> np.ndarray:
    """Return the images of an idx3-ubyte file, gzipped or not: uint8 (images, height, width), read-only."""
    magic, header = b"\0\0\x08\x03", 16
    unpacked = content if content[:4] == magic else gunzip(file, content, where)
    if unpacked[:4] != magic or len(unpacked) < header:
        raise DataError(f"{where}: must begin as an idx3-ubyte file, with {magic.hex()}, got {unpacked[:header].hex()}")
    shape = tuple(int(size) for size in np.frombuffer(unpacked, ">u4", 3, offset=4))
    expected = header + shape[0] * shape[1] * shape[2]
    if len(unpacked) != expected:
        size = "x".join(map(str, shape))
        raise DataError(f"{where}: must have {expected} bytes for {size} images, got {len(unpacked)}")
    return np.frombuffer(unpacked, np.uint8, offset=header).reshape(shape)


def taskar_text(file, content: bytes, where: str) -> np.ndarray:
    """Return the rows of letter.data.gz: uint8 (rows, 128) of 0 and 1, row-major 16x8.

    A line holds id, letter, next id, word id, position, fold and the 128 pixels, each followed by a tab; the last
    tab may be missing.
    """
    lines = gunzip(file, content, where).splitlines()
    pixels = [line.split(b"\t", 6)[-1].rstrip(b"\t") for line in lines]
    if not pixels:
        raise DataError(f"{where}: no lines")
    for number, part in enumerate(pixels, 1):
        if len(part) != 2 * PIXELS - 1:
            raise DataError(f"{where}: line {number}: must have 6 fields and {PIXELS} pixels 0 or 1, separated by tabs")
    characters = np.frombuffer(b"\t".join([*pixels, b""]), np.uint8).reshape(len(lines), PIXELS, 2)
    bits = characters[:, :, 0] - np.uint8(ord("0"))
    bad = (bits > 1).any(axis=1) | (characters[:, :, 1] != ord("\t")).any(axis=1)
    if bad.any():
        raise DataError(f"{where}: line {bad.argmax() + 1}: must have {PIXELS} pixels 0 or 1, separated by tabs")
    return bits


def taskar_mat(_file, content: bytes, where: str) -> np.ndarray:
    """Return the rows of ocr_taskar.mat: uint8 (rows, 128) of 0 and 1, row-major 16x8.

    The file holds a matrix (129, length) per word: the pixels of each letter column by column, and a constant 1.
    """
    cells = _matlab_arrays(content, ("patterns_train", "patterns_test"), where)
    try:
        columns = np.concatenate([word for cell in cells.values() for word in cell.ravel()], axis=1)
    except (ValueError, TypeError) as error:
        raise DataError(f"{where}: must have cells of words, matrices of {PIXELS + 1} rows ({error})") from None
    if columns.dtype != np.uint8 or len(columns) != PIXELS + 1 or columns.max() > 1 or columns[-1].min() != 1:
        raise DataError(f"{where}: must have words of {PIXELS} pixels 0 or 1 and a constant 1, as uint8")
    images = columns[:PIXELS].T.reshape(-1, WIDTH, HEIGHT)
    return images.transpose(0, 2, 1).reshape(-1, PIXELS)


def labelled_grey_text(file, content: bytes, where: str) -> np.ndarray:
    """Return the images of a gzipped text of lines "label grey ... grey": float32 (rows, 256), -1 to 1."""
    numbers = _numbers(gunzip(file, content, where), None, where)
    if numbers.shape[1] != GREY_PIXELS + 1:
        raise DataError(f"{where}: must have a label and {GREY_PIXELS} pixels a line, got {numbers.shape[1]} numbers")
    grey = numbers[:, 1:]
    if not (np.abs(grey) <= 1).all():
        raise DataError(f"{where}: grey values must be from -1 to 1, got {grey.min():g} to {grey.max():g}")
    return grey


def bits_with_commas(_file, content: bytes, where: str) -> np.ndarray:
    """Return the rows of a text of 0 and 1 separated by commas: uint8 (rows, columns)."""
    numbers = _numbers(content, ",", where)
    if not ((numbers == 0) | (numbers == 1)).all():
        raise DataError(f"{where}: must have lines of 0 and 1 separated by commas")
    return numbers.astype(np.uint8)


def _numbers(text: bytes, delimiter: str | None, where: str) -> np.ndarray:
    """Return the numbers of a text, float32 (lines, numbers per line)."""
    try:
        return text_array(text, delimiter, np.float32)
    except UnreadableError as error:
        raise DataError(f"{where}: must have lines of numbers ({error})") from None


def amat(file, content: bytes, where: str) -> np.ndarray:
    """Return the rows of binarized_mnist_PART.amat, plain or gzipped: uint8 (rows, 784) of 0 and 1.

    A line holds the 784 pixels of an image, separated by blanks.
    """
    text = gunzip(file, content, where) if file.name.endswith(".gz") else content
    characters = np.frombuffer(text, np.uint8)
    if characters.size == 0 or characters.size % (2 * IMAGE**2):
        raise DataError(f"{where}: must have lines of {IMAGE**2} pixels 0 or 1, got {characters.size} characters")
    bits = characters[::2] - np.uint8(ord("0"))
    if bits.max() > 1:
        raise DataError(f"{where}: must have pixels 0 or 1, separated by blanks")
    return bits.reshape(-1, IMAGE**2)


def chardata_mat(_file, content: bytes, where: str) -> dict[str, np.ndarray]:
    """Return "train" and "test" of chardata.mat: grey values from 0 to 1, (rows, 784), row-major.

    The file holds a matrix (784, images) for each part, the pixels of an image column by column.
    """
    arrays = _matlab_arrays(content, ("data", "testdata"), where)
    columns = {part: arrays[name] for part, name in {"train": "data", "test": "testdata"}.items()}
    for pixels in columns.values():
        is_grey = pixels.dtype.kind in "buif" and pixels.ndim == 2 and len(pixels) == IMAGE**2
        if not is_grey or not ((pixels >= 0) & (pixels <= 1)).all():
            raise DataError(f"{where}: must have matrices of {IMAGE**2} grey values from 0 to 1 an image")
    return {
        part: pixels.astype(np.float64, copy=False).T.reshape(-1, IMAGE, IMAGE).swapaxes(1, 2).reshape(-1, IMAGE**2)
        for part, pixels in columns.items()
    }


def _matlab_arrays(content: bytes, names: tuple[str, ...], where: str) -> dict[str, np.ndarray]:
    """Return the named arrays of a MATLAB file.

    The checksum of the file must have been compared: SciPy may crash on damaged bytes.
    """
    from scipy.io import loadmat

    try:
        arrays = one_line(loadmat)(BytesIO(content), variable_names=names)
        if missing := [name for name in names if not isinstance(arrays.get(name), np.ndarray)]:
            raise UnreadableError(f"holds no array {missing[0]!r}")
        return {name: arrays[name] for name in names}
    except UnreadableError as error:
        raise DataError(f"{where}: not a MATLAB file of {' and '.join(names)}, or damaged ({error})") from error


def grey_npz(_file, content: bytes, where: str) -> dict[str, np.ndarray]:
    """Return the arrays "train" and "test" of an npz file: grey values from 0 to 255, uint8 (rows, 784), row-major."""
    try:
        parts = npz_arrays(BytesIO(content), ("train", "test"))
    except UnreadableError as error:
        raise DataError(f"{where}: not an npz file of images, or damaged ({error})") from error
    if len(parts) < 2:
        raise DataError(f"{where}: must be an npz file of images with 'train' and 'test', got {list(parts)}")
    for pixels in parts.values():
        if pixels.dtype != np.uint8 or pixels.ndim != 2 or pixels.shape[1] != IMAGE**2:
            raise DataError(f"{where}: must have rows of {IMAGE**2} grey values, as uint8")
    return parts
