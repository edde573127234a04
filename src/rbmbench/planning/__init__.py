# SPDX-License-Identifier: BSD-3-Clause
"""From the configuration to jobs: runs, evaluations, ground truths, samples, figures and tables."""
