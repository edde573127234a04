# SPDX-License-Identifier: BSD-3-Clause
"""The configuration: its models, and how it is read, merged and checked."""
