# SPDX-License-Identifier: BSD-3-Clause
"""The pages: executed notebooks and the report."""
