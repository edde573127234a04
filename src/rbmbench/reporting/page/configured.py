# SPDX-License-Identifier: BSD-3-Clause
"""What the configuration says of what a page shows: papers, titles, readings, axes, and what claims are about."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rbmbench.config.layers import read_yaml
from rbmbench.config.loading import load
from rbmbench.planning.specs import number_of
from rbmbench.reporting.claims.files import expanded
from rbmbench.reporting.page.model import Paper

NAME = re.compile(r'"((?:fig|table)[0-9][a-z0-9_]*)[."]')


@dataclass(frozen=True)
class Configured:
    """The configuration of one scale; empty where there is no file.

    Attributes
    ----------
    papers : tuple of Paper
    shown : mapping
        Figures and tables as the scale has them, by key: models of `rbmbench.planning.kinds.Kind`.
    claims : mapping
        The claims as their files have them, by id.
    judged : set of str
        The papers of which there is a file of claims.
    """

    papers: tuple[Paper, ...] = ()
    shown: Mapping[str, Any] = field(default_factory=dict)
    claims: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    judged: frozenset[str] = frozenset()

    @classmethod
    def read(cls, files: Sequence[Path], values: Mapping[str, Any] | None = None) -> "Configured":
        """Return what config.yaml and its overlays say, or ``values``; `SettingsError` if a file is damaged."""
        if not files or not files[0].is_file():
            return cls()
        found = load(files, values)
        claims = {paper.key: _claims(files[0].parent / "claims" / f"{paper.key}.yaml") for paper in found.papers}
        return cls(
            tuple(_paper(paper) for paper in found.published.values()),
            {key: one for paper in found.papers for key, one in _shown(paper).items()},
            {str(claim.get("id")): claim for of_paper in claims.values() for claim in of_paper},
            frozenset(paper for paper, of_paper in claims.items() if of_paper),
        )

    def about(self, claim: str) -> str:
        """Return the name of the figure or the table that a claim is measured on; "" if that is not known."""
        found = NAME.search(json.dumps(self.claims.get(claim, {})))
        return found[1] if found else ""


def _shown(paper: Any) -> dict[str, Any]:
    return {f"{paper.key}_{name}": one for name, one in (paper.figures | paper.tables).items()}


def _paper(paper: Any) -> Paper:
    names = {key: f"{number_of(key)}: {one.title}" for key, one in _shown(paper).items()}
    return Paper(key=paper.key, title=paper.title, citation=paper.citation, shown=names)


def _claims(file: Path) -> list[dict[str, Any]]:
    entries = read_yaml(file).get("claims", []) if file.is_file() else []
    return [claim for entry in entries for claim in expanded(entry, str(file))]
