# SPDX-License-Identifier: BSD-3-Clause
"""Measurements of trained or random models: bias and variance of gradients, samples, meeting times of chains."""
