"""Benchmark harness for restricted Boltzmann machines: estimators, samplers, likelihoods, and the papers about them."""

from importlib import import_module

__all__ = [
    "RBM",
    "Stream",
    "datasets",
    "estimators",
    "exact_gradient",
    "likelihood",
    "measurements",
    "samplers",
    "train",
    "updates",
]

_HOMES = {
    "RBM": "rbmbench.model.rbm",
    "Stream": "rbmbench.base.streams",
    "exact_gradient": "rbmbench.likelihood",
    "train": "rbmbench.training.trainer",
    "datasets": "rbmbench",
    "estimators": "rbmbench",
    "likelihood": "rbmbench",
    "measurements": "rbmbench",
    "samplers": "rbmbench",
    "updates": "rbmbench",
}


def __getattr__(name: str):
    """Import public names when they are first used: `rbmbench --help` needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rbmbench' has no attribute {name!r}")
    home = _HOMES[name]
    return import_module(f"rbmbench.{name}") if home == "rbmbench" else getattr(import_module(home), name)
