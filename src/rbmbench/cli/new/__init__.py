# SPDX-License-Identifier: BSD-3-Clause
"""The subcommand that begins a part of the user: files that work unchanged, to be edited, and their test."""

import re
from argparse import Namespace
from importlib import import_module
from importlib.resources import files
from keyword import iskeyword
from pathlib import Path

from rbmbench.base.errors import SettingsError
from rbmbench.config.checks import wrong_target
from rbmbench.config.parts import MOST_LETTERS
from rbmbench.io.atomic import replaced

LONGEST = MOST_LETTERS - len("test_")
REGISTRIES = {"estimator": "rbmbench.estimators", "dataset": "rbmbench.datasets"}
TEMPLATES = {
    "paper": {
        "papers/{name}.yaml": "paper.yaml",
        "claims/{name}.yaml": "claims.yaml",
        "{name}.yaml": "scale.yaml",
        "test_{name}.py": "test_paper.py",
    }
} | {
    kind: {"{name}.py": f"{kind}.py", "test_{name}.py": f"test_{kind}.py", "{name}.yaml": f"{kind}.yaml"}
    for kind in REGISTRIES
}
"""Templates by the files that are made of them, below the folder."""
RUN_PART = """
Its test, and its name and options:
  python -m pytest {folder}/test_{name}.py
  rbmbench list {kind}s --plugin {folder}/{name}.py
Its curves beside those of a paper, in a folder with the workflow; then open results/{name}/report/index.html:
  snakemake -c2 all --configfile {folder}/{name}.yaml"""
RUN_PAPER = """
Check, forecast, run; the last two in a folder with the workflow:
  python -m pytest {folder}/test_{name}.py
  rbmbench forecast --config {folder}/{name}.yaml
  snakemake -c2 paper_{name} claims report --configfile {folder}/{name}.yaml"""


def new(arguments: Namespace) -> None:
    """Write the files of a new part, and print the commands that use them."""
    kind, name = arguments.what, arguments.name
    folder = arguments.folder or Path("plugins" if kind in REGISTRIES else "config")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or iskeyword(name) or name.startswith("test_") or len(name) > LONGEST:
        text = f"at most {LONGEST} small letters, digits and _, first a letter; not test_..., and no word of Python"
        raise SettingsError(f"name: must be {text}, got {name!r}")
    if kind in REGISTRIES and name in import_module(REGISTRIES[kind]).REGISTRY.names():
        raise SettingsError(f"name: must be a name that no {kind} has (`rbmbench list {kind}s`), got {name!r}")
    if kind == "paper" and (wrong := wrong_target(name)):
        raise SettingsError(f"name: {wrong}")
    class_name = "".join(word.capitalize() for word in name.split("_"))
    placeholders = {"plugin_folder": folder.as_posix(), "part_name": name, "PartName": class_name}
    contents = {}
    for file, template in TEMPLATES[kind].items():
        text = (files(__name__) / "templates" / template).read_text(encoding="utf-8")
        for placeholder, value in placeholders.items():
            text = text.replace(placeholder, value)
        contents[folder / file.format(name=name)] = text
    for file in contents:
        if file.exists():
            raise SettingsError(f"{file}: exists already; choose another name, or --folder")
    for file, text in contents.items():
        with replaced(file) as temporary:
            temporary.write_text(text, encoding="utf-8")
        print(f"{file}: written")
    print((RUN_PAPER if kind == "paper" else RUN_PART).format(kind=kind, name=name, folder=folder.as_posix()))
