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
from rbmbench.reporting.frames import initial_words
from rbmbench.reporting.page.curves import Axes
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
    published : mapping
        The same at the published settings, each with its paper.
    about : mapping
        Names of the figure or the table that a claim is measured on, by the claim's id.
    discussed : mapping
        The section that tells what was tried about a claim, by the claim's id.
    """

    papers: tuple[Paper, ...] = ()
    shown: Mapping[str, Any] = field(default_factory=dict)
    published: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    discussed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, files: Sequence[Path]) -> "Configured":
        """Return what config.yaml and its overlays say; `SettingsError` if a file is damaged."""
        if not files or not files[0].is_file():
            return cls()
        found = load(files)
        claims = [
            claim for paper in found.papers for claim in _claims(files[0].parent / "claims" / f"{paper.key}.yaml")
        ]
        named = {str(claim.get("id")): NAME.search(json.dumps(claim)) for claim in claims}
        return cls(
            tuple(_paper(paper) for paper in found.published.values()),
            {key: one for paper in found.papers for key, one in _shown(paper).items()},
            {key: (one, paper) for paper in found.published.values() for key, one in _shown(paper).items()},
            {claim: name[1] for claim, name in named.items() if name},
            {str(claim.get("id")): str(claim["discussed"]) for claim in claims if claim.get("discussed")},
        )


def _shown(paper: Any) -> dict[str, Any]:
    return {f"{paper.key}_{name}": one for name, one in (paper.figures | paper.tables).items()}


def _paper(paper: Any) -> Paper:
    names = {key: f"{number_of(key)}: {one.title}" for key, one in _shown(paper).items()}
    return Paper(key=paper.key, title=paper.title, citation=paper.citation, shown=names)


def _claims(file: Path) -> list[dict[str, Any]]:
    entries = read_yaml(file).get("claims", []) if file.is_file() else []
    return [claim for entry in entries for claim in expanded(entry, str(file))]


def _words(panel: Any) -> tuple[str, ...]:
    """Return what tells a panel from others of the same data: its own mini-batches and initial parameters."""
    batch, initial = getattr(panel, "batch", None), getattr(panel, "initial", None)
    initial = initial.model_dump() if hasattr(initial, "model_dump") else initial
    return (*[f"mini-batches of {batch}"] * bool(batch), *(initial_words(initial) if initial else []))


def axes_of(panels: Mapping[str, Any]) -> dict[str, Axes]:
    """Return the axes of panels of a spec or of the configuration, by their letter."""
    return {
        name: Axes(
            getattr(panel, "iteration_axis", "linear") == "log",
            getattr(panel, "axis", "linear") == "log",
            getattr(panel, "epoch", None),
            _words(panel),
        )
        for name, panel in panels.items()
    }
