# SPDX-License-Identifier: BSD-3-Clause
"""Pictures, tables, verdicts and a page from the files of results.

Nothing is imported here, so that importing the package is fast.
"""
