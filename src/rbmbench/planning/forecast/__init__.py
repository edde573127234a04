"""Forecasts of what a scale will take, before anything runs: recorded times, a count of the work, and a fit."""

from rbmbench.planning.forecast.calibration import calibration_records, this_machine
from rbmbench.planning.forecast.model import CostModel, fitted_model
from rbmbench.planning.forecast.plans import TOTAL, Job, forecast, jobs_of
from rbmbench.planning.forecast.records import Record, read_records
from rbmbench.planning.forecast.requests import Request, requests

__all__ = [
    "TOTAL",
    "CostModel",
    "Job",
    "Record",
    "Request",
    "calibration_records",
    "fitted_model",
    "forecast",
    "jobs_of",
    "read_records",
    "requests",
    "this_machine",
]
