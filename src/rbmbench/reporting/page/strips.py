# SPDX-License-Identifier: BSD-3-Clause
"""Where a claim's numbers lie on the strip that shows them: percent of its width."""

import math
from contextlib import suppress
from dataclasses import dataclass

from rbmbench.reporting.page.model import Claim

MARGIN = 0.08
"""Share of the strip on either side of the outermost number."""
MOST_LINEAR = 50
"""Positive numbers whose largest is more than so many times the smallest lie on a logarithmic strip."""


@dataclass(frozen=True)
class Strip:
    """Places in percent of the width, None for what there is not: accepted range, interval, measured, printed."""

    range: tuple[float, float]
    interval: tuple[float, float] | None
    measured: float
    printed: float | None
    log: bool


def strip(claim: Claim) -> Strip | None:
    """Return where the numbers of a claim lie; None without a measured number or a range."""
    if claim.measured is None or claim.above is claim.below is None:
        return None
    printed = None
    with suppress(ValueError):  # words
        printed = float(claim.published)
    given = [claim.measured, claim.low, claim.high, claim.above, claim.below, printed]
    numbers = [number for number in given if number is not None]
    log = min(numbers) > 0 and max(numbers) > MOST_LINEAR * min(numbers)
    scaled = [math.log(number) if log else number for number in numbers]
    least, span = min(scaled), (max(scaled) - min(scaled)) or 1.0

    def place(number: float | None) -> float | None:
        if number is None:
            return None
        share = ((math.log(number) if log else number) - least) / span
        return round(100 * (MARGIN + (1 - 2 * MARGIN) * share), 2)

    low, high = place(claim.low), place(claim.high)
    above, below = place(claim.above), place(claim.below)
    return Strip(
        (0.0 if above is None else above, 100.0 if below is None else below),
        None if low is None or high is None else (low, high),
        place(claim.measured),
        place(printed),
        log,
    )
