"""Which results were made with other code than the present, and the command that makes them again."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rbmbench.base.settings import (
    AnnealingSettings,
    CouplingSettings,
    EstimateSettings,
    GroundTruthSettings,
    RunSettings,
    SamplingSettings,
)
from rbmbench.io.layout import META, Layout
from rbmbench.io.results import read_meta
from rbmbench.measurements.fingerprints import UNKNOWN, fingerprint

PRESENT, OTHER, UNRECORDED = "present", "other", "not recorded"
# Tried in this order: every mapping is one of one model only, which refuses unknown keys.
MODELS = RunSettings, GroundTruthSettings, EstimateSettings, CouplingSettings, SamplingSettings, AnnealingSettings


@dataclass(frozen=True)
class Origin:
    """The ``meta.json`` of a result, and whether its code was the present one: `PRESENT`, `OTHER`, `UNRECORDED`."""

    file: str
    code: str


def origins(folder: str, layout: Layout) -> Iterator[Origin]:
    """Yield the origin of the result in a folder, and that of the training run that it measures."""
    meta, file = read_meta(folder), f"{folder}/{META}"
    run = layout.job("run", str(meta.get("run")), META)
    if "evaluation" in meta:  # the rest is the meta of the run
        yield Origin(file, _code(meta["evaluation"], meta))
        yield Origin(run, _code(meta, meta))
    else:
        yield Origin(file, _code(meta, meta))
        if run != file and Path(run).is_file():
            yield Origin(run, _code(of_run := read_meta(Path(run).parent), of_run))


def _code(made: Mapping[str, Any], meta: Mapping[str, Any]) -> str:
    """Return what is known of the code of a job, from its settings and the fingerprint that it recorded."""
    recorded, now = made.get("code"), UNKNOWN
    for model in MODELS:
        with suppress(ValidationError):
            now = fingerprint(model.model_validate(made.get("settings")), (meta.get("data") or {}).get("visible"))
            break
    if not recorded or UNKNOWN in (recorded, now):
        return UNRECORDED
    return PRESENT if recorded == now else OTHER


def command(files: Sequence[str], configfiles: Sequence[str]) -> str:
    """Return the command that makes these results again, and all that rests on them; "" without any."""
    overlays = ["--configfile", *configfiles] if configfiles else []
    return shlex.join(["snakemake", "-c2", "all", "--forcerun", *files, *overlays]) if files else ""
