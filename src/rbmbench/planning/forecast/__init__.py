# SPDX-License-Identifier: BSD-3-Clause
"""Forecasts of time and memory before anything runs: counts of the work, and costs fitted to recorded jobs."""

from rbmbench.planning.forecast.costs import fitted_model
from rbmbench.planning.forecast.jobs import forecast, makespans, priorities, requests
from rbmbench.planning.forecast.records import calibration_records, read_records, this_machine
from rbmbench.planning.forecast.remaining import Expected, Remaining, expected_seconds

__all__ = [
    "Expected",
    "Remaining",
    "calibration_records",
    "expected_seconds",
    "fitted_model",
    "forecast",
    "makespans",
    "priorities",
    "read_records",
    "requests",
    "this_machine",
]
