# SPDX-License-Identifier: BSD-3-Clause
"""Binary data sets by name: one public module per data set, in ``REGISTRY``.

The fields of a data set's class are its options, checked on creation; its method ``load`` reads or generates the rows.
"""

import os
from collections.abc import Mapping, Sequence

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import Registry
from rbmbench.datasets._dataset import Dataset, build, read, save, was_saved
from rbmbench.datasets._downloads import Sources, file_status
from rbmbench.datasets._http import without_credentials
from rbmbench.datasets._recipe import Recipe, Seed, number, one_of, text, truth_value, whole_number

__all__ = [
    "REGISTRY",
    "Dataset",
    "Recipe",
    "Seed",
    "Sources",
    "build",
    "file_status",
    "image_shape",
    "load",
    "number",
    "one_of",
    "read",
    "read_file",
    "save",
    "text",
    "truth_value",
    "whole_number",
    "without_credentials",
]

REGISTRY: Registry = Registry("rbmbench.datasets", "data set")


def read_file(path: str | os.PathLike, columns: Sequence[str] = (), sparse: bool = False, **options) -> Dataset:
    """Return the data set of a file: one that `save` wrote, or rows of the user's own with options of `user_file`.

    ``columns`` are those of the user's own file that are read, in this order, if it names its columns. With ``sparse``,
    rows of a sparse file are `rbmbench.model.sparse_rows.SparseRows`, which training makes dense in mini-batches.

    Raises a `DataError` if the file is missing, damaged, or neither of them.
    """
    if options or os.path.splitext(path)[1].lower() != ".npz" or not was_saved(path):
        return REGISTRY.create("user_file", {"path": os.fspath(path)} | options).read(columns, sparse)
    return read(path)


def image_shape(provenance: Mapping[str, object]) -> tuple[int, int] | None:
    """Return rows and columns of the images that the rows of a data set are, from its name and options.

    None if they are no images, or the data set is none of this package.
    """
    name, options = provenance.get("name"), provenance.get("options")
    if not isinstance(name, str) or not isinstance(options, Mapping):
        return None
    try:
        return REGISTRY.create(name, options).image
    except SettingsError:
        return None


def load(name: str, *, mirror: str | None = None, cache: str | None = None, **options) -> Dataset:
    """Return a data set. Its files are downloaded if neither the mirror nor the cache has them.

    Parameters
    ----------
    name : str
        One of ``REGISTRY.names()``.
    mirror : str, optional
        A folder or a base address (http or https) where files are looked for first.
        The default is the environment variable RBMBENCH_DATA_MIRROR.
    cache : str, optional
        The folder where downloads are kept.
        The default is the environment variable RBMBENCH_DATA_CACHE, or else the user's cache folder.
    **options
        The options of the data set.

    Returns
    -------
    Dataset
        Its ``train``, ``validation`` and ``test`` are uint8 arrays (rows, m) of 0 and 1.

    Raises
    ------
    SettingsError
        If the name or an option is unknown, or an option's value is not allowed.
    DataError
        If a file is not available, has a wrong checksum, or is damaged.
    """
    recipe = REGISTRY.create(name, options)
    return recipe.load(Sources.resolve(mirror, cache))
