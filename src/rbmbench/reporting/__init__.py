# SPDX-License-Identifier: BSD-3-Clause
"""From the files of results to pictures, tables, verdicts and a page to read.

Nothing is imported here, so that a program which only names this package starts quickly.
"""
