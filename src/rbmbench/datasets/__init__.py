"""Binary data sets by name: one public module a set, found through ``REGISTRY``.

A set's class takes its options and checks them when it is made; its ``load`` method reads or generates the rows.
"""

from rbmbench.base.registry import Registry
from rbmbench.datasets._dataset import Dataset, build, read, save
from rbmbench.datasets._downloads import Sources, file_status
from rbmbench.datasets._http import without_credentials

__all__ = ["REGISTRY", "Dataset", "Sources", "build", "file_status", "load", "read", "save", "without_credentials"]

REGISTRY = Registry("rbmbench.datasets", "data set")


def load(name: str, *, mirror: str | None = None, cache: str | None = None, **options) -> Dataset:
    """Return a data set, downloading its files if they are nowhere at hand.

    Parameters
    ----------
    name : str
        One of ``REGISTRY.names()``.
    mirror : str, optional
        A folder or a base address (http or https) that is asked for files first.
        If not given, the environment variable RBMBENCH_DATA_MIRROR is used.
    cache : str, optional
        The folder that downloads are kept in.
        If not given, the environment variable RBMBENCH_DATA_CACHE is used, or else the user's cache folder.
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
        If a file cannot be had, has a wrong checksum, or is damaged.
    """
    recipe = REGISTRY.create(name, options)
    return recipe.load(Sources.resolve(mirror, cache))
