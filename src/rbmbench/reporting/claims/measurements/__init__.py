# SPDX-License-Identifier: BSD-3-Clause
"""The measurements for claims: each returns a number with an interval, without a verdict."""

from importlib import import_module
from pkgutil import iter_modules

from rbmbench.reporting.claims.measurements._base import MEASUREMENTS, Level, Measurement  # noqa: F401

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
