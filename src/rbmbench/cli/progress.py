"""Show how a long computation goes: a bar on a terminal, now and then a plain line elsewhere."""

import sys
import time

__all__ = ["shown_progress"]

SECONDS_BETWEEN_LINES = 30.0
