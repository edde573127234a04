# SPDX-License-Identifier: BSD-3-Clause
"""Files: whole writes, locks, provenance, folders of results, and readers of files of bounded size."""
