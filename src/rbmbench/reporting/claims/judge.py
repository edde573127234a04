# SPDX-License-Identifier: BSD-3-Clause
"""Judge a paper's claims: each gets a measured value, an interval and a verdict.

One rule holds for all claims. A claim gives a range (``above``, ``below``) for a measured number. It is reproduced when
the whole interval of the number lies inside the range, and not reproduced when the whole interval lies outside. In all
other cases, and when the scale lacks what the claim needs, it is inconclusive at this scale, and the note says why.
"""

import math
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import Field

from rbmbench.base.errors import ResultsError, unknown_name
from rbmbench.base.parsing import parse
from rbmbench.io.results import read_csv, read_json
from rbmbench.planning.differences import Difference
from rbmbench.planning.specs import Spec, parse_spec, rooted
from rbmbench.reporting.claims.evidence import Evidence, NotRun
from rbmbench.reporting.claims.files import STANDINGS, VARIANT, Claim, ClaimFile, Needs, claims_of
from rbmbench.reporting.claims.measurements import MEASUREMENTS, POSSIBLE, SETS_RANGE, Measurement
from rbmbench.reporting.words import data_name, phrases, reductions

REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"
INCONCLUSIVE = "inconclusive at this scale"
CHECK_OF_INSTALLATION = "smoke"
"""The scale whose figures only show that everything runs: whoever reads its verdicts is told that nothing is judged."""
NO_INTERVAL, BOUNDARY = "no interval", "the interval holds the boundary"
STAND_IN = "stand-in data for"
COLUMNS = [
    "claim", "paper", "class", "where", "text", "published", "measured", "low", "high", "above", "below", "fails",
    "verdict", "note", "discussed",
]  # fmt: skip


class ClaimsSpec(Spec):
    """What the claims of one scale are judged from."""

    scale: str
    outputs: tuple[dict[str, Any], ...] = Field(default=(), description="specs of figures and tables")
    claims: dict[str, ClaimFile]


def read_spec(path: str | PathLike) -> ClaimsSpec:
    """Return the spec of the claims from ``results/SCALE/specs/claims.json``; see `specs.read_values` for errors."""
    return parse(ClaimsSpec, rooted(read_json(path), Path(path)), str(path))


def evaluate(spec: ClaimsSpec) -> pd.DataFrame:
    """Judge all claims of all papers of one scale.

    Returns
    -------
    DataFrame
        Columns claim, paper, class, where, text, published, measured, low, high, above, below: the accepted range,
        fails: see `power`, verdict, note: what was measured, and why a claim is inconclusive, and discussed: see
        `files.Claim`. One row per claim, in the order of the files.

    Raises
    ------
    ResultsError
        If a run or a measurement that should be there is missing or damaged.
    SettingsError
        If a file of claims has a mistake that can be found without the papers; see `files.check` for the others.
    """
    rows, outputs = [], [parse_spec(values, "claims") for values in spec.outputs]
    for paper, file in spec.claims.items():
        evidence = Evidence(paper, outputs, file.published_tables)
        for claim in claims_of(file, f"config/claims/{paper}.yaml"):
            rows.append({"claim": claim.id, "paper": paper} | _judged(claim, evidence))
    return pd.DataFrame(rows, columns=COLUMNS)


def _judged(claim: Claim, evidence: Evidence) -> dict[str, Any]:
    row = {"class": claim.standing, "where": claim.where, "text": claim.text}
    row |= {"published": claim.published, "discussed": claim.discussed}
    evidence.used.clear()
    try:
        found = MEASUREMENTS[claim.kind](evidence, **claim.arguments)
    except NotRun as reason:
        row["published"] = claim.published if reason.published is None else reason.published
        return row | {"verdict": INCONCLUSIVE, "note": str(reason)}
    above, below = found.bounds or (claim.above, claim.below)
    missing = _unique(reason for source in found.sources for reason in _missing(claim.needs, source))
    judged = INCONCLUSIVE if missing else verdict(found.low, found.high, above, below)
    if found.published is not None:
        row["published"] = found.published
    row |= {"measured": found.value, "low": found.low, "high": found.high, "above": above, "below": below}
    row |= {"verdict": judged, "fails": power(found, (above, below), POSSIBLE[claim.kind])}
    differences = _differences(found, *found.sources, *evidence.used)
    changed = _plain(phrases(difference for difference in differences if difference.kind == "setting"))
    row |= {"class": VARIANT} if changed else {}
    return row | {"note": _note(found, missing, judged, (above, below), changed)}


def is_not_judged(row: Mapping[str, Any]) -> bool:
    """Return whether a verdict, a row of `evaluate`, is inconclusive because its results lack what the claim needs.

    That is what was not run, real data, or enough trials, iterations, models, estimates or particles of an annealing;
    see `Needs`.
    """
    if row["verdict"] != INCONCLUSIVE or pd.isna(row["measured"]):
        return row["verdict"] == INCONCLUSIVE
    return any(", needs " in reason or reason.startswith(STAND_IN) for reason in row["note"].split("; ")[2:])


def judged_again(row: Mapping[str, Any], claim: Claim) -> dict[str, Any]:
    """Return a verdict of before, a row of `evaluate`, as the claim's words and range are now.

    The measured number and its interval stay. What the scale lacked of what the claim needs is as it was.
    """
    published = row["published"] if claim.published is None else claim.published
    above, below = row["above"], row["below"]
    if claim.kind not in SETS_RANGE:
        above, below = claim.above, claim.below
    elif "factor" in claim.arguments:
        factor = claim.arguments["factor"]
        above, below = above if math.isinf(above) else float(published) / factor, float(published) * factor
    found = Measurement(row["measured"], row["low"], row["high"], "", ())
    what, _, *rest = row["note"].split("; ")
    lacks = is_not_judged(row)
    standing = VARIANT if row["class"] == VARIANT else claim.standing
    again = {"class": standing, "where": claim.where, "text": claim.text, "published": published}
    again |= {"above": above, "below": below, "discussed": claim.discussed}
    again |= {"fails": power(found, (above, below), POSSIBLE[claim.kind])}
    again |= {"verdict": INCONCLUSIVE if lacks else verdict(found.low, found.high, above, below)}
    rest = [part for part in rest if part not in (BOUNDARY, NO_INTERVAL)]
    if again["verdict"] == INCONCLUSIVE and not lacks:
        rest = [NO_INTERVAL if math.isnan(found.low) else BOUNDARY, *rest]
    return dict(row) | again | {"note": "; ".join([what, _asked(above, below), *rest])}


def _missing(needs: Needs, source: Any) -> list[str]:
    """Return, in words, what the results that a number is measured on lack of what a claim needs."""
    real = not (needs.real_data and source.stand_in)
    reasons = [] if real else [f"{STAND_IN} {data_name(source.stand_in)}"]
    particles = getattr(source, "effective_particles", math.inf)
    if particles < needs.effective_particles:
        reasons.append(f"{particles:.3g} effective particles of annealing, needs {needs.effective_particles:g}")
    for less in _differences(source):
        if less.setting == "iterations" and less.value < needs.share_of_iterations * less.published:
            needed = f"{100 * needs.share_of_iterations:.0f} % of them"
            reasons += [f"{words}, needs {needed}" for words in _plain(phrases([less]))]
    fewest = {name: getattr(needs, name) for name in source.budget if name != "iterations"}
    found = {name: source.budget[name] for name in fewest}
    return reasons + [f"{found[name]} {name}, needs {least}" for name, least in fewest.items() if found[name] < least]


def verdict(low: float, high: float, above: float, below: float) -> str:
    """Return the verdict for the interval of a number and the open range in which the claim holds.

    An interval that holds an end of the range, or that is not known (NaN), is inconclusive.
    """
    # An infinite end is none: a number may be infinite and still lie inside.
    if (above < low or above == -math.inf) and (high < below or below == math.inf):
        return REPRODUCED
    return NOT_REPRODUCED if high < above or low > below else INCONCLUSIVE


def power(found: Measurement, bounds: tuple[float, float], possible: tuple[float, float]) -> str:
    """Return, in words, with which values a claim would not be reproduced: "below 0.031", "above 0.95", or both.

    The interval is taken to keep its width there, or its ratio to the distance from an end of the possible numbers,
    whichever is narrower. "none" means that there is no such value, nothing that the interval is not known.

    Parameters
    ----------
    found : Measurement
    bounds : tuple of float
        The range in which the claim holds.
    possible : tuple of float
        The smallest and the largest number that there can be.
    """
    certain = found.low == found.value == found.high
    if not certain and not all(map(math.isfinite, (found.value, found.low, found.high))):
        return ""
    (above, below), (lowest, highest) = bounds, possible
    low, high = max(_edges(above, found, found.high, possible)), min(_edges(below, found, found.low, possible))
    words = [f"below {low:.3g}"] * bool(lowest < low) + [f"above {high:.3g}"] * bool(high < highest)
    return " or ".join(words) or "none"


def _edges(bound: float, found: Measurement, end: float, possible: tuple[float, float]) -> list[float]:
    """Return values whose interval would end at ``bound``, as that of ``found`` does at ``end``."""
    if found.value == end:
        return [bound]
    edges = [bound + found.value - end]
    if math.isfinite(bound):
        anchors = [anchor for anchor in possible if math.isfinite(anchor) and anchor != end]
        edges += [anchor + (bound - anchor) * (found.value - anchor) / (end - anchor) for anchor in anchors]
    return edges


def _note(found: Measurement, missing: list[str], judged: str, bounds: tuple[float, float], changed: list[str]) -> str:
    parts = [found.what, _asked(*bounds), *missing, *[f"variant: {', '.join(changed)}"] * bool(changed)]
    if judged == INCONCLUSIVE and not missing:
        parts.append(NO_INTERVAL if math.isnan(found.low) else BOUNDARY)
    cut = _plain(reductions(_differences(*found.sources), titled=False))
    # A cut that is named as missing above need not be named twice.
    parts += [phrase for phrase in cut if not any(reason.startswith(phrase) for reason in missing)]
    parts += _unique(phrase for source in found.sources for phrase in source.dropped)
    return "; ".join([*parts, *found.notes])


def _asked(above: float, below: float) -> str:
    """Return, in words, the range in which a claim holds."""
    asked = [f"above {above:.3g}"] * math.isfinite(above) + [f"below {below:.3g}"] * math.isfinite(below)
    return f"should be {' and '.join(asked)}"


def _differences(*parts: Any) -> list[Difference]:
    """Return the differences of what a number is measured on; a source of a plug-in need not have any."""
    return [difference for part in parts for difference in getattr(part, "differences", ())]


def _plain(phrases: list[str]) -> list[str]:
    """Return phrases with plain spaces."""
    return [phrase.replace("\N{NO-BREAK SPACE}", " ") for phrase in phrases]


def _unique(phrases) -> list[str]:
    return list(dict.fromkeys(phrases))


def read_claims(path: str | PathLike) -> pd.DataFrame:
    """Return the verdicts of `evaluate` from their CSV; `ResultsError` if it is missing or damaged."""
    table = read_csv(path, COLUMNS).astype({"claim": str, "paper": str})
    known = {"verdict": (REPRODUCED, NOT_REPRODUCED, INCONCLUSIVE), "class": STANDINGS}
    for name, allowed in known.items():
        for found in table[name]:
            if found not in allowed:
                raise ResultsError(f"{path}: {unknown_name(name, found, allowed)}")
    for name in ("measured", "low", "high", "above", "below"):
        if len(table) and not pd.api.types.is_numeric_dtype(table[name]):
            raise ResultsError(f"{path}: column {name!r} holds {table[name].dtype}; should be numbers")
    words = ["fails", "discussed"]
    return table.astype(dict.fromkeys(words, object)).fillna(dict.fromkeys(words, ""))
