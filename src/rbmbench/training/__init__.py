# SPDX-License-Identifier: BSD-3-Clause
"""Training runs: the loop, shards of trials, checkpoints, scheduled evaluation."""
