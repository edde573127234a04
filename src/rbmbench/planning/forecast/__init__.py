# SPDX-License-Identifier: BSD-3-Clause
"""Forecasts of time and memory before anything runs: counts of the work, and costs fitted to recorded jobs."""
