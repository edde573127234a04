# SPDX-License-Identifier: BSD-3-Clause
"""What the configuration says of what a page shows: papers, titles, readings and axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rbmbench.config.loading import load
from rbmbench.planning.specs import number_of
from rbmbench.reporting.page.model import Paper


@dataclass(frozen=True)
class Configured:
    """The configuration of one scale; empty where there is no file.

    Attributes
    ----------
    papers : tuple of Paper
    shown : mapping
        Figures and tables as the scale has them, by key: models of `rbmbench.planning.kinds.Kind`.
    """

    papers: tuple[Paper, ...] = ()
    shown: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, files: Sequence[Path], values: Mapping[str, Any] | None = None) -> "Configured":
        """Return what config.yaml and its overlays say, or ``values``; `SettingsError` if a file is damaged."""
        if not files or not files[0].is_file():
            return cls()
        found = load(files, values)
        return cls(
            tuple(_paper(paper) for paper in found.published.values()),
            {key: one for paper in found.papers for key, one in _shown(paper).items()},
        )


def _shown(paper: Any) -> dict[str, Any]:
    return {f"{paper.key}_{name}": one for name, one in (paper.figures | paper.tables).items()}


def _paper(paper: Any) -> Paper:
    names = {key: f"{number_of(key)}: {one.title}" for key, one in _shown(paper).items()}
    return Paper(key=paper.key, title=paper.title, citation=paper.citation, shown=names)
