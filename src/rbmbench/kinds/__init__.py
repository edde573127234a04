# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of figures and tables, one file each, looked up by name: settings, jobs, spec, drawing, caption, evidence.

Modules for drawing are imported where figures are drawn, to keep planning fast, which each job of a workflow repeats.
"""

from rbmbench.config.paper import KINDS as REGISTRY
from rbmbench.planning.specs import parse_spec, read_spec

__all__ = ["REGISTRY", "parse_spec", "read_spec"]
