# SPDX-License-Identifier: BSD-3-Clause
"""Claims: their evidence, the measurements, and the verdicts."""
