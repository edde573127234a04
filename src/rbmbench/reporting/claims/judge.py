# SPDX-License-Identifier: BSD-3-Clause
"""Judge a paper's claims by a measured value, an interval and a verdict each; see `verdict`."""

import math
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path

from pydantic import Field

from rbmbench.base.parsing import parse
from rbmbench.io.results import read_json
from rbmbench.planning.differences import Difference
from rbmbench.planning.specs import Source, Spec, parse_spec, rooted
from rbmbench.reporting.claims.evidence import Evidence, NotRun
from rbmbench.reporting.claims.files import Claim, ClaimFile, Needs, claims_of
from rbmbench.reporting.claims.measurements import MEASUREMENTS, Measurement
from rbmbench.reporting.claims.verdict import NOT_RUN, Missing, Region, Verdict


class ClaimsSpec(Spec):
    """Specs and files of claims for the verdicts of one scale."""

    scale: str
    outputs: tuple[dict[str, object], ...] = Field(default=(), description="specs of figures and tables")
    claims: dict[str, ClaimFile]


def read_spec(path: str | PathLike) -> ClaimsSpec:
    """Return the spec of the claims from ``results/SCALE/specs/claims.json``; see `specs.read_spec` for errors."""
    return parse(ClaimsSpec, rooted(read_json(path), Path(path)), str(path))


def evaluate(spec: ClaimsSpec) -> list[Verdict]:
    """Return the verdicts on all claims of all papers of one scale, in the order of the files.

    Raises
    ------
    ResultsError
        If a run or a measurement of this scale is missing or damaged.
    SettingsError
        If a file of claims has a mistake that can be found without the papers; see `files.check` for the others.
    """
    verdicts, outputs = [], [parse_spec(values, "claims") for values in spec.outputs]
    for paper, file in spec.claims.items():
        evidence = Evidence(paper, outputs, file.published_tables)
        verdicts += [_judged(claim, paper, evidence) for claim in claims_of(file, f"config/claims/{paper}.yaml")]
    return verdicts


def _judged(claim: Claim, paper: str, evidence: Evidence) -> Verdict:
    words = {name: getattr(claim, name) for name in ("standing", "where", "text", "published")}
    words |= {"claim": claim.id, "paper": paper}
    evidence.used.clear()
    try:
        number = MEASUREMENTS[claim.kind](evidence, **claim.arguments).with_doubts(claim.needs.effective_particles)
    except NotRun as reason:
        words |= {} if reason.published is None else {"published": reason.published}
        return Verdict(**words, what=str(reason), reason=NOT_RUN, **_place(claim, evidence, None, (None, None)))
    bounds = number.bounds or claim.bounds()
    words |= {} if number.published is None else {"published": number.published}
    lost = [trial for source in number.sources for trial in source.dropped]
    missing = [lack for source in number.sources for lack in _missing(claim.needs, number, source)]
    numbers = {"measured": number.value, "low": number.low, "high": number.high}
    record = Verdict(
        **words,
        what=number.what,
        **{name: None if math.isnan(value) else float(value) for name, value in numbers.items()},
        above=bounds[0],
        below=bounds[1],
        possible=number.possible,
        missing=_unique(missing),
        differences=_differences(number, evidence.used),
        remarks=(*_unique(lost), *number.notes),
        **_place(claim, evidence, number, bounds),
    )
    return record.decided()


def _missing(needs: Needs, number: Measurement, source: Source) -> Iterator[Missing]:
    """Yield the requirements of a claim that the results behind a number do not meet."""
    if needs.real_data and source.stand_in:
        yield Missing(setting="data", value=source.stand_in)
    particles = getattr(source, "effective_particles", math.inf)
    # The interval of a number that is a function of mean curves includes their errors.
    if number.of_means is None and particles < needs.effective_particles:
        yield Missing(setting="particles", value=particles, needed=needs.effective_particles)
    share = needs.share_of_iterations
    for change in getattr(source, "differences", ()):
        if change.setting == "iterations" and change.value < share * change.published:
            yield Missing(setting="iterations", value=change.value, needed=share, difference=change)
    for name, value in source.budget.items():
        if name != "iterations" and value < getattr(needs, name):
            yield Missing(setting=name, value=value, needed=getattr(needs, name))


def _differences(number: Measurement, used: Sequence[Source]) -> tuple[Difference, ...]:
    """Return the differences of settings of all sources, and those of budgets and data of the sources of the number.

    Sources of plug-ins may lack the attribute.
    """
    changes = [change for item in (number, *number.sources, *used) for change in getattr(item, "differences", ())]
    measured = [change for source in number.sources for change in getattr(source, "differences", ())]
    settings = [change for change in changes if change.kind == "setting"]
    return _unique(settings + [change for change in measured if change.kind != "setting"])


def _unique(values: list) -> tuple:
    return tuple(value for place, value in enumerate(values) if value not in values[:place])


def _place(
    claim: Claim, evidence: Evidence, number: Measurement | None, bounds: tuple[float | None, float | None]
) -> Mapping[str, object]:
    """Return the figure or table of a claim, and the regions of its evidence in the figure."""
    places = [place for source in evidence.used if (place := getattr(source, "place", None))]
    if not places:
        names = [name for value in claim.arguments.values() for name in (value if isinstance(value, list) else [value])]
        specs = (evidence.spec(str(name).partition(".")[0]) for name in names)
        return {"shown": next((spec.key for spec in specs if spec), "")}
    first, drawn = places[0], {}
    for place in places:
        if place.figure == first.figure:
            drawn.setdefault((place.panel, place.metric), []).append(place)
    exact = number is not None and all(place.is_exact for place in places)
    regions = []
    for (panel, metric), group in drawn.items():
        accepted, window = {}, None
        if exact and number.window:
            window = tuple(end / first.unit for end in number.window)
        if exact and number.level and number.level.slope and panel == first.panel:
            level, unit = number.level, first.unit if number.level.along == "x" else 1.0
            ends = [(level.origin + level.slope * bound) / unit for bound in level.range or bounds]
            # Numbers that fall where the curve rises, such as a decline, have their ends in reverse order.
            above, below = (float(f"{end:.5g}") if math.isfinite(end) else None for end in sorted(ends))
            accepted = {"above": above, "below": below, "along": level.along}
        curves = tuple(dict.fromkeys(place.curve for place in group))
        regions.append(Region(panel=panel, curves=curves, metric=metric, window=window, **accepted))
    return {"shown": first.figure, "regions": tuple(regions)}
