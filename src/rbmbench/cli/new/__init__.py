# SPDX-License-Identifier: BSD-3-Clause
"""The subcommand that begins a part of one's own: files that work as they are, to be changed, and their test."""

import re
from argparse import Namespace
from importlib import import_module
from importlib.resources import files
from keyword import iskeyword
from pathlib import Path

from rbmbench.base.errors import SettingsError
from rbmbench.cli.new.claims import new_claim
from rbmbench.config.parts import MOST_LETTERS
from rbmbench.io.atomic import replaced

PLUGINS, CONFIG = Path("plugins"), Path("config")
NAME, CLASS, FOLDER = "part_name", "PartName", "plugin_folder"
"""What stands in the templates for the name, for that of the class, and for the folder."""
LONGEST = MOST_LETTERS - len("test_")
REGISTRIES = {"estimator": "rbmbench.estimators", "dataset": "rbmbench.datasets"}
OF_PART = {"{name}.py": "{what}.py", "test_{name}.py": "test_{what}.py", "{name}.yaml": "{what}.yaml"}
OF_PAPER = {
    "papers/{name}.yaml": "paper.yaml",
    "claims/{name}.yaml": "claims.yaml",
    "{name}.yaml": "scale.yaml",
    "test_{name}.py": "test_paper.py",
}
"""Files by their templates, below the folder."""
RUN_PART = """
Its test, and what it is called with:
  python -m pytest {folder}/test_{name}.py
  rbmbench list {what}s --plugin {folder}/{name}.py
Its curves beside those of a paper, in a folder with the workflow; then open results/{name}/report/index.html:
  snakemake -c2 all --configfile {folder}/{name}.yaml"""
RUN_PAPER = """
Check, forecast, run; the last two in a folder with the workflow:
  python -m pytest {folder}/test_{name}.py
  rbmbench forecast --config {folder}/{name}.yaml
  snakemake -c2 paper_{name} claims report --configfile {folder}/{name}.yaml"""
RUN_CLAIM = """
Its verdict, in a folder with the workflow:
  snakemake -c2 claims --configfile config/smoke.yaml"""


def new(arguments: Namespace) -> None:
    """Write the files of a new part, and print what to type next."""
    what, name = arguments.what, arguments.name
    folder = arguments.folder or (PLUGINS if what in REGISTRIES else CONFIG)
    _check_name(what, name)
    if (what == "claim") != bool(arguments.paper):
        found = f"found {arguments.paper!r}" if arguments.paper else "found nothing"
        raise SettingsError(f"--paper: {found} with `new {what}`; allowed: the paper of a claim, and nothing else")
    if what == "claim":
        print(f"{new_claim(folder, arguments.paper, name)}: claim {name!r}, to be changed")
        print(RUN_CLAIM)
        return
    given = {"what": what, "name": name, "folder": folder.as_posix()}
    templates = OF_PAPER if what == "paper" else OF_PART
    _write({folder / file.format(**given): _filled(templates[file].format(**given), given) for file in templates})
    print((RUN_PAPER if what == "paper" else RUN_PART).format(**given))


def _check_name(what: str, name: str) -> None:
    """Refuse names that are no names of parts, or are taken."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or iskeyword(name) or name.startswith("test_") or len(name) > LONGEST:
        text = f"at most {LONGEST} small letters, digits and _, first a letter; not test_..., and no word of Python"
        raise SettingsError(f"name: found {name!r}; allowed: {text}")
    if what in REGISTRIES and name in import_module(REGISTRIES[what]).REGISTRY.names():
        raise SettingsError(f"name: found {name!r}; allowed: a name that no {what} has: `rbmbench list {what}s`")


def _filled(template: str, given: dict[str, str]) -> str:
    """Return a template with the names filled in."""
    text = (files(__name__) / "templates" / template).read_text(encoding="utf-8")
    name = given["name"]
    for placeholder, value in {FOLDER: given["folder"], NAME: name, CLASS: _class_name(name)}.items():
        text = text.replace(placeholder, value)
    return text


def _class_name(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _write(contents: dict[Path, str]) -> None:
    """Write files that are not there yet, all or none."""
    for file in contents:
        if file.exists():
            raise SettingsError(f"{file}: is there already; allowed: another name, or --folder")
    for file, text in contents.items():
        with replaced(file) as temporary:
            temporary.write_text(text, encoding="utf-8")
        print(f"{file}: written")
