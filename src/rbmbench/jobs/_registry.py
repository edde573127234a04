# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of jobs, by name, by the type of their settings, and by ``meta.json``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from rbmbench.base.errors import ResultsError
from rbmbench.base.registry import Registry
from rbmbench.base.settings import Settings

if TYPE_CHECKING:
    from rbmbench.jobs._base import JobKind

REGISTRY: Registry[JobKind] = Registry(
    "rbmbench.jobs",
    "kind of job",
    exclude=("fingerprints", "probes"),
    attributes=("Settings", "folder", "files", "rule", "infix", "title"),
)


@cache
def of_name(name: str) -> JobKind:
    """Return the kind of jobs of a name; raise a `SettingsError` if there is none."""
    return REGISTRY.create(name)


def kinds() -> list[JobKind]:
    """Return all kinds of jobs, training first."""
    return sorted((of_name(name) for name in REGISTRY.names()), key=lambda kind: kind.infix)


def kind_of(settings: Settings) -> JobKind:
    """Return the kind of jobs with settings of this type."""
    return next(kind for kind in kinds() if type(settings) is kind.Settings)


def kind_of_meta(meta: Mapping[str, Any]) -> tuple[JobKind, Settings]:
    """Return the kind and the settings of the job of a ``meta.json``; raise a `ResultsError` if there is none.

    Metas of earlier versions do not name the kind: settings of each kind have their own keys.
    """
    if "settings" not in meta:
        raise ResultsError("key 'settings' is missing")
    candidates = [of_name(meta["job"])] if "job" in meta else kinds()
    for kind in candidates:
        try:
            return kind, kind.Settings.model_validate(meta["settings"])
        except ValidationError:
            continue
    raise ResultsError(f"settings: must be those of a kind of job ({', '.join(REGISTRY.names())})")
