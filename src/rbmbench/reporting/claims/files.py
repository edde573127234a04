# SPDX-License-Identifier: BSD-3-Clause
"""The files of claims, ``config/claims/KEY.yaml``: their models, and their check against the papers.

Every kind of claim is a model whose fields are the arguments of its measurement. These models define the JSON schema.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, StrictBool, create_model, model_validator

from rbmbench.base.errors import SettingsError, unknown_name
from rbmbench.base.parsing import parse
from rbmbench.base.settings import Count, Settings, no_truth_value
from rbmbench.config.layers import read_yaml
from rbmbench.config.loading import Configuration
from rbmbench.config.paper import KINDS, Paper
from rbmbench.config.parts import TableName
from rbmbench.reporting.claims.arguments import Bound, Context, problems
from rbmbench.reporting.claims.measurements import MEASUREMENTS
from rbmbench.reporting.words import FEW_PARTICLES

MOST_CLAIMS = 10_000
PLACEHOLDER = r"\{(\w+)\}"


class Needs(Settings):
    """Requirements of a claim that a scale must meet for a verdict."""

    share_of_iterations: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="smallest share of the paper's iterations"
    )
    trials: Count = Field(default=1, description="fewest trials")
    models: Count = Field(default=1, description="fewest trained models of a row of a table")
    estimates: Count = Field(default=1, description="fewest gradient estimates per model")
    replications: Count = Field(default=1, description="fewest pairs of coupled chains")
    samples: Count = Field(default=1, description="fewest samples of a stream")
    real_data: StrictBool = Field(default=True, description="whether the data must be the paper's, not a stand-in")
    effective_particles: Annotated[float, Field(ge=0)] = Field(
        default=FEW_PARTICLES,
        description="least effective sample size of an annealing with a lower end of the likelihood",
    )


Mappings = Annotated[tuple[dict[str, str | int | float | bool], ...], Field(min_length=1)]
Lists = Annotated[tuple[Mappings, ...], Field(min_length=1)]


class Each(Settings):
    """Lists of mappings; an entry represents their combinations."""

    each: Lists = Field(
        default=(), description="the entry represents one claim for every combination of one mapping from each list"
    )

    @model_validator(mode="after")
    def _not_too_many(self) -> Self:
        if (count := math.prod(map(len, self.each))) > MOST_CLAIMS:
            raise ValueError(f"each: must have at most {MOST_CLAIMS} combinations, got {count}")
        return self


Standing = Literal["published", "reading", "check", "ours"]
VARIANT = "variant"
"""The class of verdicts from other settings than the published ones, whatever the class of their claims."""


class Claim(Each):
    """One claim, without the arguments of its measurement; see `claim_models`."""

    # Arguments are not converted: "3" is no number.
    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    id: Annotated[str, Field(min_length=1)] = Field(description="name of the claim, unique in the file")
    where: str = Field(description="place in the paper")
    text: str = Field(description="the claim, in a sentence")
    kind: str = Field(description="the measurement that the claim is judged by")
    standing: Standing = Field(
        default="published",
        alias="class",
        description="published: a number or a sentence of the paper; reading: the same under another reading of a "
        "setting that the paper leaves open; check: a theorem or an identity, which must hold or the code is wrong; "
        "ours: a consequence of the paper that it does not state",
    )
    published: str | float | None = Field(default=None, description="the paper's number or words")
    needs: Needs = Field(default=Needs(), description="requirements of this claim, instead of those of the file")

    @property
    def arguments(self) -> dict[str, object]:
        """The arguments of the measurement that the claim sets."""
        names = self.model_fields_set - RangedClaim.model_fields.keys()
        return {name: getattr(self, name) for name in type(self).model_fields if name in names}

    def bounds(self, published: Any = None, before: tuple[float, float] = (-math.inf, math.inf)) -> tuple[float, float]:
        """Return the accepted range: ``before``, or the published number divided and multiplied by a factor."""
        factor = getattr(self, "factor", None)
        if factor is None or not isinstance(published, float):
            return before
        return before[0] if math.isinf(before[0]) else published / factor, published * factor


End = Annotated[Bound, Field(strict=False), BeforeValidator(no_truth_value)]


class RangedClaim(Claim):
    """A claim with the range in which it holds."""

    above: End = Field(default=-math.inf, description="the measured number must be larger")
    below: End = Field(default=math.inf, description="the measured number must be smaller")

    def bounds(self, *_: object) -> tuple[float, float]:
        """Return the accepted range."""
        return self.above, self.below


@cache
def claim_models() -> dict[str, type[Claim]]:
    """Return the model of each kind of claim: the arguments of its measurement as fields beside those of `Claim`."""
    models = {}
    for name, kind in sorted(MEASUREMENTS.items()):
        items = kind.arguments.items()
        fields = {key: (item.annotation, ... if item.default is item.empty else item.default) for key, item in items}
        base = Claim if kind.sets_range else RangedClaim
        models[name] = create_model(name, __base__=base, __doc__=kind.summary, kind=(Literal[name], ...), **fields)
    return models


class Finding(Settings):
    """A sentence of a paper, and the claims that are its evidence."""

    name: str = Field(pattern=r"^[a-z0-9_]+$", description="name of the finding, unique in the file")
    text: str = Field(description="the finding in a sentence")
    where: str = Field(description="place in the paper")
    headline: StrictBool = Field(default=False, description="whether the abstract or the conclusion has it")
    claims: tuple[str, ...] = Field(
        default=(),
        description="ids of the claims that are its evidence, in which * matches any characters and ? one; "
        "empty: no run can judge it",
    )
    figure: str = Field(default="", description="key of the figure or table that shows it; empty: that of its claims")
    reason: str = Field(
        default="", description="why it holds in part, does not, or is not decided at the published settings, in words"
    )

    def evidence(self, ids: Iterable[str]) -> list[str]:
        """Return those of the ids of claims that are its evidence."""
        return [name for name in ids if any(fnmatchcase(name, pattern) for pattern in self.claims)]


class ClaimFile(Settings):
    """config/claims/KEY.yaml: findings and claims of one paper, and the numbers that its tables print."""

    lists: dict[str, Mappings] = Field(
        default={}, description="lists of mappings that the keys 'each' of several claims refer to by YAML's anchors"
    )
    needs: Needs = Field(default=Needs(), description="requirements of all claims of the file")
    findings: tuple[Finding, ...] = Field(
        default=(), description="findings of the paper, with the claims that are evidence, in the order of importance"
    )
    claims: tuple[dict[str, object], ...] = Field(description="the claims")
    published_tables: dict[TableName, dict[str, object]] = Field(
        default={}, description="the numbers that the paper prints in its tables"
    )


def expanded(entry: Mapping[str, object], where: str = "claims") -> Iterator[dict[str, object]]:
    """Yield the claims of one entry of a file.

    The key ``each`` has lists of mappings. For every combination of one mapping from each list, the names in braces in
    the entry's texts are replaced by the mappings' values; `SettingsError` for a name in no mapping.
    """
    place = f"{where}: claim {entry.get('id')!r}"
    values = {key: value for key, value in entry.items() if key != "each"}
    if "each" in entry:
        parse(Each, {"each": entry["each"]}, place)
    for combination in product(*entry.get("each", ())):
        names = {key: value for mapping in combination for key, value in mapping.items()}
        filled = {key: _filled(value, names, f"{place}: {key}") for key, value in values.items()}
        yield filled | {key: str(filled[key]) for key in ("id", "where", "text") if isinstance(values.get(key), str)}


def _filled(value: object, names: Mapping[str, object], place: str) -> object:
    if isinstance(value, dict):
        return {key: _filled(item, names, f"{place}.{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, names, f"{place}.{number}") for number, item in enumerate(value)]
    if not isinstance(value, str):
        return value
    for name in re.findall(PLACEHOLDER, value):
        if name not in names:
            message = unknown_name("placeholder", name, names) if names else f"has {{{name}}} without the key 'each'"
            raise SettingsError(f"{place}: {message}")
    if (alone := re.fullmatch(PLACEHOLDER, value)) and isinstance(names[alone[1]], int):
        return names[alone[1]]
    # Not str.format, whose format specifications can ask for texts of any length.
    return re.sub(PLACEHOLDER, lambda match: str(names[match[1]]), value)


def claims_of(file: ClaimFile, where: str) -> Iterator[Claim]:
    """Yield all claims of a file, expanded and checked except for names, with the needs of the file filled in.

    `SettingsError` for the first mistake; the message begins with ``where``, which names the file.
    """
    seen = set()
    for number, entry in enumerate(file.claims):
        if "id" not in entry:
            raise SettingsError(f"{where}: claims.{number}.id: is missing")
        for values in expanded(entry, where):
            place, kind = f"{where}: claim {values['id']!r}", values.get("kind")
            if isinstance(kind, str):
                _check_name(f"{place}: kind", "kind", kind, claim_models())
            claim = parse(claim_models().get(str(kind), Claim), values, place)
            if isinstance(claim, RangedClaim) and not claim.above < claim.below:
                message = f"must be less than 'below', {claim.below:g}, got {claim.above:g}"
                raise SettingsError(f"{place}: above: {message}")
            if isinstance(claim, RangedClaim) and claim.bounds() == (-math.inf, math.inf):
                raise SettingsError(f"{place}: above: 'above' or 'below' is missing")
            if claim.id in seen:
                raise SettingsError(f"{place}: id: must be unique")
            seen.add(claim.id)
            needs = {name: getattr(claim.needs, name) for name in claim.needs.model_fields_set}
            yield claim.model_copy(update={"needs": file.needs.model_copy(update=needs)})


def check(folder: Path, configuration: Configuration) -> None:
    """Check the files of claims of all papers before anything is computed.

    Claims may refer to parts of the published paper, or of the paper at this scale. `SettingsError` for the first
    mistake: one line that names file, claim, key, the value and the allowed ones. ``folder`` has the files,
    ``KEY.yaml`` for each paper.
    """
    files: dict[str, Path] = {}
    for paper in configuration.papers:
        path = folder / f"{paper.key}.yaml"
        for name in check_file(read_yaml(path), (configuration.published[paper.key], paper), str(path)):
            if files.setdefault(name, path) != path:
                raise SettingsError(f"{path}: claim {name!r}: id: must be unique, got one of {files[name]}")


def check_file(values: Mapping[str, object], papers: tuple[Paper, ...], where: str) -> list[str]:
    """Check the values of one file of claims against the versions of its paper, see `check`; return the claims' ids."""
    file = parse(ClaimFile, values, where)
    entries = _checked_entries(file, papers, where)
    claims = list(claims_of(file, where))
    for claim in claims:
        values = claim.arguments
        contexts = [Context(paper, entries, values) for paper in papers]
        arguments = MEASUREMENTS[claim.kind].arguments
        for name in (name for name in arguments if name in values):
            for problem in problems(name, arguments[name].annotation, values[name], contexts):
                raise SettingsError(f"{where}: claim {claim.id!r}: {problem}")
    _check_findings(file, claims, papers, where)
    return [claim.id for claim in claims]


def _check_findings(file: ClaimFile, claims: list[Claim], papers: tuple[Paper, ...], where: str) -> None:
    """Refuse findings of the same name, unknown claims and figures, and claims of the paper outside all findings."""
    ids, seen = {claim.id for claim in claims}, set()
    items = {key for paper in papers for key in (*paper.figures, *paper.tables)}
    for number, finding in enumerate(file.findings):
        place = f"{where}: findings.{number}"
        if finding.name in seen:
            raise SettingsError(f"{place}.name: must be unique, got {finding.name!r} twice")
        seen.add(finding.name)
        if finding.figure:
            _check_name(f"{place}.figure", "figure or table", finding.figure, items)
        for at, pattern in enumerate(finding.claims):
            if not any(fnmatchcase(name, pattern) for name in ids):
                raise SettingsError(f"{place}.claims.{at}: {unknown_name('claim', pattern, ids)}")
    used = {name for finding in file.findings for name in finding.evidence(ids)}
    for claim in claims if file.findings else ():
        if claim.standing in ("published", "reading") and claim.id not in used:
            raise SettingsError(f"{where}: claim {claim.id!r}: of class {claim.standing}: must be in a finding")


def _checked_entries(file: ClaimFile, papers: tuple[Paper, ...], where: str) -> dict[str, Any]:
    """Return the entries of the printed tables of a file, by the key of the table; some kinds of tables have none."""
    algorithms = {name for paper in papers for name in paper.algorithms}
    planned = {name: table for paper in papers for name, table in paper.tables.items()}
    entries = {}
    for key, values in file.published_tables.items():
        place = f"{where}: published_tables.{key}"
        _check_name(place, "table", key, planned)
        model = create_model("Tables", published_tables=(dict[str, _published_model(type(planned[key]))], ...))
        table = parse(model, {"published_tables": {key: values}}, where).published_tables[key]
        rows = getattr(planned[key], "rows", {})
        for row in getattr(table, "iterations", {}):
            _check_name(f"{place}.iterations", "row", row, rows)
        seen = set()
        entries[key] = getattr(table, "entries", ())
        for number, entry in enumerate(entries[key]):
            at, name = f"{place}.entries.{number}", (getattr(entry, "row", None), entry.algorithm)
            if rows:
                _check_name(f"{at}.row", "row", entry.row, rows)
            _check_name(f"{at}.algorithm", "algorithm", entry.algorithm, algorithms)
            if name in seen:
                raise SettingsError(f"{at}: must have each entry once, got {'.'.join(filter(None, name))} twice")
            seen.add(name)
    return entries


def _published_model(kind: type) -> type[Settings]:
    return kind.SPEC.model_fields["published"].annotation


def _check_name(place: str, noun: str, name: str, allowed: Collection[str]) -> None:
    if name not in allowed:
        raise SettingsError(f"{place}: {unknown_name(noun, name, allowed)}")


def schema() -> dict[str, Any]:
    """Return the JSON schema of a file of claims, in which the keys of an entry depend on ``kind``."""
    result, kinds = ClaimFile.model_json_schema(), [*claim_models()]
    common = RangedClaim.model_json_schema()["properties"]
    result["$defs"]["claim"] = {"properties": {key: _or_placeholder(key, value) for key, value in common.items()}}
    result["$defs"] |= {kind: _schema_of(model, common) for kind, model in claim_models().items()}
    cases = [{"if": {"properties": {"kind": {"const": kind}}}, "then": {"$ref": f"#/$defs/{kind}"}} for kind in kinds]
    kind = common["kind"] | {"enum": kinds}
    tables = [_published_model(kind).model_json_schema() for kind in map(KINDS.get, KINDS.names()) if kind.IS_TABLE]
    for table in tables:
        result["$defs"] |= table.pop("$defs", {})
    (names,) = result["properties"]["published_tables"]["patternProperties"]
    result["properties"]["published_tables"]["patternProperties"][names] = {"anyOf": tables}
    entry = {"type": "object", "required": ["kind"], "properties": {"kind": kind}, "allOf": cases}
    result["properties"]["claims"]["items"] = entry
    return result


def _schema_of(model: type[Claim], common: Mapping[str, object]) -> dict[str, Any]:
    result = model.model_json_schema()
    del result["$defs"]
    result["properties"] = {
        key: {"$ref": f"#/$defs/claim/properties/{key}"} if key in common else _or_placeholder(key, value)
        for key, value in result["properties"].items()
    }
    return result


def _or_placeholder(key: str, definition: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a key that ``each`` can fill in: an end of the range, an integer, one of several words."""
    if key not in ("above", "below") and "enum" not in definition and definition.get("type") != "integer":
        return definition
    about = {name: definition.pop(name) for name in ("title", "description", "default") if name in definition}
    return about | {"anyOf": [definition, {"type": "string", "pattern": PLACEHOLDER}]}
