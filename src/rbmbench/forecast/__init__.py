"""Forecasts of what a scale will take, before anything runs: recorded times, a count of the work, and a fit."""

from rbmbench.forecast.calibration import calibration_records, this_machine
from rbmbench.forecast.model import CostModel, fitted_model
from rbmbench.forecast.plans import TOTAL, Job, forecast, jobs_of
from rbmbench.forecast.records import Record, read_records
from rbmbench.forecast.requests import Request, requests

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
