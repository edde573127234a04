# SPDX-License-Identifier: BSD-3-Clause
"""Claims: the evidence they rest on, the measurements, and the verdicts."""
