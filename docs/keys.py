# SPDX-License-Identifier: BSD-3-Clause
"""Write config/KEYS.md, the reference of all keys, from the JSON schemas: ``python docs/keys.py``."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FILES = {"config": "config.yaml and overlays", "paper": "papers/KEY.yaml", "claims": "claims/KEY.yaml"}
EVERY_OUTPUT = ("kind", "title", "reading")
"""Keys of all figures and tables."""


def reference(folder: Path) -> str:
    """Return the page for the schemas of a folder."""
    lines = ["# Keys of the configuration", "", "Written by `python docs/keys.py` from the models of the files. A key"]
    lines += ["without a default is required. `null` means that a key is left out."]
    lines += ["Figures and tables also have `kind`, `title` and `reading`, another reading of an open setting."]
    for name, title in FILES.items():
        schema = json.loads((folder / f"{name}.schema.json").read_text(encoding="utf-8"))
        lines += ["", f"## {title}", *_sections(schema)]
    return "\n".join(lines) + "\n"


def _sections(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the keys of a file, of those of its parts, and of the kinds of claims."""
    models = {name: model for name, model in schema.get("$defs", {}).items() if "properties" in model}
    kinds = {name: models.pop(name) for name in list(models) if name.islower() and name != "claim"}
    yield from _table(schema)
    panel_keys = models.get("Panel", {"properties": {}})["properties"]
    for name, model in models.items():
        properties = model["properties"]
        is_panel = name != "Panel" and bool(panel_keys) and panel_keys.keys() <= properties.keys()
        if is_panel:
            properties = {key: value for key, value in properties.items() if key not in panel_keys}
        if "const" in properties.get("kind", {}):
            properties = {key: value for key, value in properties.items() if key not in EVERY_OUTPUT}
            name = f"`{model['properties']['kind']['const']}`"
        note = " It has the keys of `Panel`, too." if is_panel else ""
        yield from ("", f"### {name}", "", _line(model.get("description", "")) + note)
        yield from _table({**model, "properties": properties})
    if kinds:
        yield from ("", "### Kinds of claims", "", "| kind | measures | arguments |", "|---|---|---|")
        common = models["claim"]["properties"]
        for name, model in kinds.items():
            arguments = ", ".join(f"`{key}`" for key in model["properties"] if key not in common)
            yield f"| `{name}` | {_line(model['description']).removeprefix('Measure ')} | {arguments} |"


def _table(model: Mapping[str, Any]) -> Iterator[str]:
    """Yield a table of keys, their meaning and default; none for a model without keys."""
    if model["properties"]:
        yield from ("", "| key | meaning | default |", "|---|---|---|")
    for key, value in sorted(model["properties"].items()):
        default = json.dumps(value["default"]) if "default" in value else ""
        words = "; ".join(filter(None, (_line(value.get("description", "")), _allowed(value))))
        yield f"| `{key}` | {words} | {f'`{default}`' if default else ''} |"


def _allowed(value: Mapping[str, Any]) -> str:
    """Return the values that a key may have, if they are a few words."""
    parts = [value, value.get("items", {}), *value.get("anyOf", ())]
    words = [word for part in parts for word in part.get("enum", ())]
    return f"one of {', '.join(f'`{word}`' for word in words)}" if words else ""


def _line(text: str) -> str:
    """Return a docstring as one line of a table."""
    return re.sub(r"\s+", " ", text.replace("``", "`").replace("|", "\\|")).strip()


if __name__ == "__main__":
    (ROOT / "config" / "KEYS.md").write_text(reference(ROOT / "config" / "schemas"), encoding="utf-8")
