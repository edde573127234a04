# SPDX-License-Identifier: BSD-3-Clause
"""A new claim: an entry of the file of claims of a paper, about the first curves that the paper has."""

import re
from pathlib import Path

from rbmbench.base.errors import SettingsError
from rbmbench.config.checks import checked_paper
from rbmbench.config.layers import Layers, read_yaml
from rbmbench.config.paper import Paper
from rbmbench.io.atomic import replaced
from rbmbench.io.text import plain_yaml
from rbmbench.reporting.claims.files import check_file

HEAD = re.compile(r"^claims:[ \t]*(\[\])?[ \t]*(#.*)?\n", re.MULTILINE)
ENTRY = """\
# Begun by `rbmbench new claim`: say what the paper claims, where, and in which range it holds. config/README.md
# explains the keys, docs/reproducing.md lists the kinds.
- id: {name}
  where: {where}
  text: {text}
  kind: final_difference
  curve: {curve}
  against: {against}
  above: 0.0
"""


def new_claim(folder: Path, key: str, name: str) -> Path:
    """Add a claim to ``claims/KEY.yaml`` of a folder of configuration, and return this file; the rest stays as it is.

    A `SettingsError` is raised if the paper is missing, has no two curves to compare, or has a claim of this name.
    """
    file, paper = folder / "claims" / f"{key}.yaml", _paper(folder, key)
    text = file.read_text(encoding="utf-8") if file.is_file() else "claims: []\n"
    values = plain_yaml(text.encode())
    if any(isinstance(claim, dict) and claim.get("id") == name for claim in values.get("claims") or ()):
        raise SettingsError(f"{file}: claim {name!r} is there already; allowed: another name")
    # A claim of the paper belongs to a finding, where the file has some.
    entry = _entry(paper, name, str(file)) + "  class: ours\n" * bool(values.get("findings"))
    extended = _with_entry(text, entry, str(file))
    check_file(plain_yaml(extended.encode()), (paper, paper), str(file))
    with replaced(file) as temporary:
        temporary.write_text(extended, encoding="utf-8")
    return file


def _paper(folder: Path, key: str) -> Paper:
    file = folder / "papers" / f"{key}.yaml"
    if not file.is_file():
        known = (
            ", ".join(sorted(one.stem for one in file.parent.glob("*.yaml"))) or "none yet: `rbmbench new paper KEY`"
        )
        raise SettingsError(f"--paper: found {key!r}; allowed: {known}")
    values = read_yaml(file)
    return checked_paper(key, Layers(((str(file), values),)), values)


def _entry(paper: Paper, name: str, where: str) -> str:
    """Return a claim that compares the first two algorithms of a panel."""
    for address, (figure, panel) in paper.panels_of("learning_curves").items():
        one, *others = figure.algorithms_of(paper, panel)
        if others:
            labels = [paper.algorithms[algorithm].label for algorithm in (one, others[0])]
            return ENTRY.format(
                name=name,
                where=f"panel {address}",
                text="{1} ends above {0}".format(*labels),
                curve=f"{address}.{others[0]}",
                against=f"{address}.{one}",
            )
    raise SettingsError(f"{where}: the paper has no panel with two learning curves; allowed: one that has")


def _with_entry(text: str, entry: str, where: str) -> str:
    """Return the text of a file of claims with an entry before the others, indented as they are."""
    head = HEAD.search(text)
    if not head:
        raise SettingsError(f"{where}: found no line 'claims:' with the entries below it; allowed: such a line")
    first = re.search(r"^( *)- ", text[head.end() :], re.MULTILINE)
    indent = first[1] if first and not head[1] else "  "
    lines = "".join(f"{indent}{line}\n" for line in entry.splitlines())
    return f"{text[: head.start()]}claims:{f'  {head[2]}' if head[2] else ''}\n{lines}{text[head.end() :]}"
