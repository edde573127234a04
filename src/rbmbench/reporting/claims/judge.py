"""Judge a paper's claims: each gets a measured value, an interval and a verdict.

The rule is the same for all. A claim sets a range (``above``, ``below``) for a measured number. When the whole interval
of the number lies inside, the claim is reproduced; when the whole interval lies outside, it is not; else, or when the
scale lacks what the claim needs, it is inconclusive at this scale, and the note says why.
"""

import inspect
import math
import re
from collections.abc import Iterator, Mapping
from itertools import product
from os import PathLike
from typing import Annotated, Any, Self

import pandas as pd
from pydantic import ConfigDict, Field, create_model, model_validator

from rbmbench.base.errors import ResultsError, SettingsError, unknown_name
from rbmbench.base.parsing import parse
from rbmbench.base.settings import Settings
from rbmbench.io.atomic import replaced
from rbmbench.io.results import read_csv
from rbmbench.reporting.claims.checks import CHECKS
from rbmbench.reporting.claims.evidence import Curves, Entry, Evidence, NotRun, RunTimes, StoppingTimes
from rbmbench.reporting.claims.measurement import Measurement
from rbmbench.reporting.claims.sample_evidence import SampleCurve
from rbmbench.reporting.specs import AnyFigure, AnyTable, Published, Spec
from rbmbench.reporting.words import FEW_PARTICLES, cuts, data_name

__all__ = [
    "COLUMNS",
    "INCONCLUSIVE",
    "NOT_REPRODUCED",
    "REPRODUCED",
    "Claim",
    "ClaimFile",
    "ClaimsSpec",
    "Needs",
    "evaluate",
    "expanded",
    "read_claims",
    "verdict",
    "write_claims",
]

REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"
INCONCLUSIVE = "inconclusive at this scale"
MOST_CLAIMS = 10_000
COLUMNS = ["claim", "paper", "where", "text", "published", "measured", "low", "high", "verdict", "note"]


class Needs(Settings):
    """What a claim needs of the scale before it can be judged."""

    share_of_iterations: float = 0.0
    trials: int = 1
    models: int = 1
    estimates: int = 1
    replications: int = 1
    samples: int = 1
    real_data: bool = True
    effective_particles: float = FEW_PARTICLES

    def missing(self, source: Curves | Entry | RunTimes | SampleCurve | StoppingTimes) -> list[str]:
        """Return, in words, what a curve, an entry, run times or coupled chains lack."""
        reasons = []
        if self.real_data and source.stand_in:
            reasons.append(f"stand-in data for {data_name(source.stand_in)}")
        particles = getattr(source, "effective_particles", math.inf)
        if particles < self.effective_particles:
            reasons.append(f"{particles:.3g} effective particles of annealing, needs {self.effective_particles:g}")
        found, published = source.budget.get("iterations", (None, None))
        if published and found < self.share_of_iterations * published:
            reasons += [
                f"{phrase}, needs {100 * self.share_of_iterations:.0f} % of them"
                for phrase in _cuts(source, "iterations")
            ]
        for name in (name for name in source.budget if name != "iterations"):
            found, needed = source.budget[name][0], getattr(self, name)
            reasons += [f"{found} {name}, needs {needed}"] if found < needed else []
        return reasons


class Claim(Settings):
    """One claim; the keys beyond these are the arguments of its check."""

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str
    where: str
    text: str
    kind: str
    published: str | float | None = None
    above: float = -math.inf
    below: float = math.inf
    needs: dict[str, Any] = {}  # noqa: RUF012


class Each(Settings):
    """Lists of mappings, whose combinations an entry stands for."""

    each: tuple[Annotated[tuple[dict[str, Any], ...], Field(min_length=1)], ...]

    @model_validator(mode="after")
    def _not_too_many(self) -> Self:
        if (found := math.prod(map(len, self.each))) > MOST_CLAIMS:
            raise ValueError(f"each: found {found} combinations; allowed: at most {MOST_CLAIMS}")
        return self


class ClaimFile(Settings):
    """config/claims/KEY.yaml: the claims of one paper and its published tables."""

    lists: dict[str, Any] = {}  # noqa: RUF012
    needs: Needs = Needs()
    claims: tuple[dict[str, Any], ...]
    published_tables: dict[str, Published] = {}  # noqa: RUF012


class _Arguments(Settings):
    """Base of the arguments of checks: nothing is converted."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class ClaimsSpec(Spec):
    """What the claims of one scale are judged from."""

    scale: str
    figures: tuple[AnyFigure, ...] = ()
    tables: tuple[AnyTable, ...] = ()
    claims: dict[str, ClaimFile]


def expanded(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the claims that one entry of a file stands for.

    The key ``each`` holds lists of mappings. For every combination of one mapping from each list, the names in braces
    in the entry's texts are replaced by the mappings' values.

    Raises
    ------
    SettingsError
        If a text names what no mapping holds.
    """
    rest = {key: value for key, value in entry.items() if key != "each"}
    parse(Each, {"each": entry.get("each", [])}, f"claim {entry.get('id')!r}")
    for combination in product(*entry.get("each", [])):
        names = {key: value for mapping in combination for key, value in mapping.items()}
        try:
            yield _filled(rest, names)
        except KeyError as error:
            raise SettingsError(f"claim {entry.get('id')!r}: cannot fill in {error}; given: {sorted(names)}") from None


def _filled(value: Any, names: Mapping[str, Any]) -> Any:
    """Return plain data with the names in braces in its texts replaced."""
    if isinstance(value, str):
        # Not str.format, whose format specifications can ask for texts of any length.
        return re.sub(r"\{(\w+)\}", lambda match: str(names[match[1]]), value)
    if isinstance(value, dict):
        return {key: _filled(part, names) for key, part in value.items()}
    return [_filled(part, names) for part in value] if isinstance(value, list) else value


def evaluate(spec: ClaimsSpec) -> pd.DataFrame:
    """Judge all claims of all papers of one scale.

    Returns
    -------
    DataFrame
        Columns claim, paper, where, text, published, measured, low, high, verdict, and note: what was measured, and why
        a claim is inconclusive. One line a claim, in the order of the files.

    Raises
    ------
    ResultsError
        If a run or a measurement that should be there is missing or damaged.
    SettingsError
        If a claim names an unknown check, lacks one of its arguments, or has one too many.
    """
    lines = []
    for paper, file in spec.claims.items():
        evidence = Evidence(paper, spec.figures, spec.tables, file.published_tables)
        where = f"config/claims/{paper}.yaml"
        for values in (values for entry in file.claims for values in expanded(entry)):
            claim = parse(Claim, values, f"{where}: claim {values.get('id')!r}")
            lines.append({"claim": claim.id, "paper": paper} | _judged(claim, file, evidence, where))
    return pd.DataFrame(lines, columns=COLUMNS)


def _judged(claim: Claim, file: ClaimFile, evidence: Evidence, where: str) -> dict[str, Any]:
    """Return the line of one claim, without its id and paper."""
    line = {"where": claim.where, "text": claim.text, "published": claim.published}
    needs = parse(Needs, file.needs.model_dump() | claim.needs, f"{where}: claim {claim.id!r}: needs")
    check = _check(claim, where)
    try:
        found = check(evidence, **(claim.model_extra or {}))
    except NotRun as reason:
        line["published"] = claim.published if reason.published is None else reason.published
        return line | {"verdict": INCONCLUSIVE, "note": str(reason)}
    above, below = found.bounds or (claim.above, claim.below)
    if math.isinf(above) and math.isinf(below):
        raise SettingsError(f"{where}: claim {claim.id!r}: 'above' or 'below' is missing")
    missing = _unique(reason for source in found.sources for reason in needs.missing(source))
    judged = INCONCLUSIVE if missing else verdict(found.low, found.high, above, below)
    if found.published is not None:
        line["published"] = found.published
    numbers = {"measured": found.value, "low": found.low, "high": found.high}
    return line | numbers | {"verdict": judged, "note": _note(found, missing, judged, (above, below))}


def _check(claim: Claim, where: str):
    """Return the check of a claim, after making sure that the claim has its arguments and no others."""
    place = f"{where}: claim {claim.id!r}"
    if claim.kind not in CHECKS:
        raise SettingsError(f"{place}: {unknown_name('kind', claim.kind, CHECKS)}")
    parameters = list(inspect.signature(CHECKS[claim.kind]).parameters.values())[1:]
    given = claim.model_extra or {}
    for name in given:
        if name not in [parameter.name for parameter in parameters]:
            raise SettingsError(f"{place}: {unknown_name('key', name, [p.name for p in parameters])}")
    for parameter in parameters:
        if parameter.default is parameter.empty and parameter.name not in given:
            raise SettingsError(f"{place}: kind {claim.kind!r} needs the key {parameter.name!r}")
    # What the check's own signature tells of its arguments.
    fields = {parameter.name: (parameter.annotation, None) for parameter in parameters}
    parse(create_model(claim.kind, __base__=_Arguments, **fields), given, place)
    return CHECKS[claim.kind]


def verdict(low: float, high: float, above: float, below: float) -> str:
    """Return the verdict for the interval of a number and the open range in which the claim holds.

    An interval that holds an end of the range, or that is not known (NaN), is inconclusive.
    """
    # An infinite end is none: a number may be infinite and still lie inside.
    if (above < low or above == -math.inf) and (high < below or below == math.inf):
        return REPRODUCED
    return NOT_REPRODUCED if high < above or low > below else INCONCLUSIVE


def _note(found: Measurement, missing: list[str], judged: str, bounds: tuple[float, float]) -> str:
    """Return what was measured, what the claim asks of it, and what stands in the way."""
    above, below = bounds
    asked = [f"above {above:.3g}"] * math.isfinite(above) + [f"below {below:.3g}"] * math.isfinite(below)
    parts = [found.what, f"should be {' and '.join(asked)}", *missing]
    if judged == INCONCLUSIVE and not missing:
        parts.append("no interval" if math.isnan(found.low) else "the interval holds the boundary")
    cut = _unique(phrase for source in found.sources for name in source.budget for phrase in _cuts(source, name))
    # A cut that is named as missing above need not be named twice.
    parts += [phrase for phrase in cut if not any(reason.startswith(phrase) for reason in missing)]
    parts += _unique(phrase for source in found.sources for phrase in source.dropped)
    return "; ".join([*parts, *found.notes])


def _cuts(source: Curves | Entry | StoppingTimes, name: str) -> list[str]:
    """Return the cut of one budget below the paper's, in words, with plain spaces."""
    return [phrase.replace("\N{NO-BREAK SPACE}", " ") for phrase in cuts(*source.budget[name], name)]


def _unique(phrases) -> list[str]:
    """Return phrases without repetition, in order."""
    return list(dict.fromkeys(phrases))


def read_claims(path: str | PathLike) -> pd.DataFrame:
    """Return the verdicts that `write_claims` has written.

    Raises
    ------
    ResultsError
        If the file is missing or damaged, lacks a column, or holds an unknown verdict or what is no number for one.
    """
    table = read_csv(path, COLUMNS)
    known = (REPRODUCED, NOT_REPRODUCED, INCONCLUSIVE)
    for found in table["verdict"]:
        if found not in known:
            raise ResultsError(f"{path}: {unknown_name('verdict', found, known)}")
    for name in ("measured", "low", "high"):
        if not pd.api.types.is_numeric_dtype(table[name]):
            raise ResultsError(f"{path}: column {name!r} holds {table[name].dtype}; should be numbers")
    for name in ("claim", "paper"):
        table[name] = table[name].astype(str)
    return table


def write_claims(verdicts: pd.DataFrame, path: str | PathLike) -> None:
    """Write the verdicts as CSV, with every digit.

    Raises
    ------
    ResultsError
        If the file cannot be written.
    """
    with replaced(path) as temporary:
        verdicts.to_csv(temporary, index=False, lineterminator="\n")
