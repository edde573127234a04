# SPDX-License-Identifier: BSD-3-Clause
"""The measurements that claims are judged by: each returns one number with an interval, and gives no verdict."""

from rbmbench.reporting.claims.measurements import curves, diagnostics, samples, tables  # noqa: F401
from rbmbench.reporting.claims.measurements._base import MEASUREMENTS, Level, Measurement  # noqa: F401
