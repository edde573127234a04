# SPDX-License-Identifier: BSD-3-Clause
"""Foundations of the package: errors, settings, validation, random streams, registries of named parts."""
