# SPDX-License-Identifier: BSD-3-Clause
"""Benchmark harness for restricted Boltzmann machines: estimators, samplers, likelihoods, and the papers about them."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rbmbench import datasets, estimators, likelihood, measurements, samplers, updates
    from rbmbench.base.plugins import load_plugins
    from rbmbench.base.streams import Stream
    from rbmbench.likelihood import exact_gradient
    from rbmbench.model.rbm import RBM
    from rbmbench.reporting.compare import results
    from rbmbench.training.plots import plot_curve, plot_filters, plot_samples
    from rbmbench.training.run import load_run
    from rbmbench.training.scikit_learn import RBMTransformer, from_scikit_learn, to_scikit_learn
    from rbmbench.training.trainer import train

    __version__: str

import_module("rbmbench.base.sources")  # reads the sources of all later imports

__all__ = [
    "RBM",
    "RBMTransformer",
    "Stream",
    "datasets",
    "estimators",
    "exact_gradient",
    "from_scikit_learn",
    "likelihood",
    "load_plugins",
    "load_run",
    "measurements",
    "plot_curve",
    "plot_filters",
    "plot_samples",
    "results",
    "samplers",
    "to_scikit_learn",
    "train",
    "updates",
]

_HOMES = {
    "RBM": "rbmbench.model.rbm",
    "Stream": "rbmbench.base.streams",
    "load_plugins": "rbmbench.base.plugins",
    "exact_gradient": "rbmbench.likelihood",
    "train": "rbmbench.training.trainer",
    "results": "rbmbench.reporting.compare",
    "load_run": "rbmbench.training.run",
    **dict.fromkeys(("plot_curve", "plot_filters", "plot_samples"), "rbmbench.training.plots"),
    **dict.fromkeys(("RBMTransformer", "from_scikit_learn", "to_scikit_learn"), "rbmbench.training.scikit_learn"),
    "datasets": "rbmbench",
    "estimators": "rbmbench",
    "likelihood": "rbmbench",
    "measurements": "rbmbench",
    "samplers": "rbmbench",
    "updates": "rbmbench",
}


if not TYPE_CHECKING:  # type checkers would accept any name

    def __getattr__(name: str):
        """Import public names at their first use: `rbmbench --help` needs none of them."""
        if name == "__version__":
            return _version()
        if name not in _HOMES:
            raise AttributeError(f"module 'rbmbench' has no attribute {name!r}")
        home = _HOMES[name]
        return import_module(f"rbmbench.{name}") if home == "rbmbench" else getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__ + [name for name in globals() if name.startswith("__")] + ["__version__"])


def _version() -> str:
    """Return the version of the installed package, "unknown" if it runs from its source without being installed."""
    from importlib import metadata

    try:
        return metadata.version("rbmbench")
    except metadata.PackageNotFoundError:
        return "unknown"
