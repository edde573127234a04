# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx builds the documentation site from the Markdown files at their places in the repository."""

import inspect
import re
import tomllib
from importlib import import_module
from pathlib import Path

import sphinx_gallery.sorting

import rbmbench
from rbmbench.cli.making import shown_folders
from rbmbench.reporting.page.html import write_report

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"]
EXAMPLES = ("train", "fit", "likelihoods", "estimator", "results")
MEASUREMENTS = ("gradient_bias", "certificate", "meeting_times", "modes", "sampling", "distances", "verdicts")
SECTIONS = {
    "Use": """
        docs/first_hour docs/reproducing config/README config/KEYS docs/data docs/fit docs/choosing docs/machines
        docs/clusters docs/deploying docs/speed docs/reliability docs/log_z docs/glossary""",
    "Examples": "docs/gallery/index",
    "Library": "docs/library",
    "Results": """
        docs/report results/reference/README docs/papers docs/arena docs/trajectories docs/conformance
        results/README""",
    "Develop": "docs/extending docs/architecture CONTRIBUTING CHANGELOG",
}
"""Captions and pages of the table of contents, in order."""

project = "rbmbench"
author = "The rbmbench authors"
project_copyright = "the rbmbench authors, BSD 3-Clause"
release = rbmbench.__version__
root_doc = "README"
include_patterns = ["*.md", "config/*.md", "docs/**", "results/README.md", "results/reference/**.md"]
exclude_patterns = ["docs/_templates/**", "docs/examples/*.rst"]
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
suppress_warnings = ["toc.not_included"]  # captions and tables of kept results, which other pages link to
default_role = "py:obj"
highlight_language = "none"

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
templates_path = [str(ROOT / "docs" / "_templates")]

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "docs" / "examples"),
    "gallery_dirs": "docs/gallery",
    "filename_pattern": "|".join(EXAMPLES),
    "ignore_pattern": r"mean_field_cd",
    "within_subsection_order": sphinx_gallery.sorting.ExplicitOrder([f"{name}.py" for name in EXAMPLES]),
    "backreferences_dir": "docs/gallery/backreferences",
    "doc_module": ("rbmbench",),
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
}

html_theme = "furo"
html_title = f"rbmbench {release}"
html_show_sourcelink = False
html_theme_options = {
    "source_repository": REPOSITORY,
    "source_branch": "main",
    "source_directory": "",
    "light_css_variables": {"content-width": "60em"},
}


TRAINING = 'rbmbench.train(\n    "bars_and_stripes", hidden=16, batch=32, rate=0.1, iterations=1000,\n    '
CALLS = {
    "datasets": 'rbmbench.datasets.load("{name}"{keywords})',
    "estimators": TRAINING + 'estimator="{name}", options={options},\n)',
    "samplers": 'rbmbench.samplers.create("{name}"{keywords})',
    "updates": TRAINING + 'estimator="cd", update={{"name": "{name}", "options": {options}}},\n)',
}
"""Calls that create the parts of a package by their names."""


def write_library():
    """Write a page for each public package, which lists its public names and the parts in its registry."""
    names = [name for name in rbmbench.__all__ if not inspect.ismodule(getattr(rbmbench, name))]
    pages = {"rbmbench": {"": names}}
    for package in ("datasets", "estimators", "samplers", "updates", "likelihood"):
        module = import_module(f"rbmbench.{package}")
        pages[module.__name__] = {"": [name for name in module.__all__ if not name.isupper()]}
        if registry := getattr(module, "REGISTRY", None):
            parts = [f"{name}.{registry.get(name).__name__}" for name in registry.names()]
            pages[module.__name__]["By name"] = parts
    pages["rbmbench.measurements"] = {}
    for name in MEASUREMENTS:
        module = import_module(f"rbmbench.measurements.{name}")
        public = [key for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        pages["rbmbench.measurements"][name] = [f"{name}.{key}" for key in public if not key.startswith("_")]
    (ROOT / "docs" / "api").mkdir(exist_ok=True)
    for name, sections in pages.items():
        text = f"{name}\n{'=' * len(name)}\n\n{inspect.getdoc(import_module(name))}\n\n.. currentmodule:: {name}\n"
        for title, entries in sections.items():
            text += f"\n{title}\n{'-' * len(title)}\n" if title else ""
            text += "\n.. autosummary::\n   :toctree: generated\n\n" + "".join(f"   {entry}\n" for entry in entries)
        (ROOT / "docs" / "api" / f"{name}.rst").write_text(text)


write_library()


def _add_call(app, kind, name, part, options, lines):
    """Add the docstring of its module and a call with the default options to a part that is created by its name."""
    package, _, module = getattr(part, "__module__", "").removeprefix("rbmbench.").partition(".")
    if kind == "class" and package in CALLS and not module.startswith("_"):
        registry = import_module(f"rbmbench.{package}").REGISTRY
        values = registry.options(module) if module in registry.names() else None
        if values is not None:
            keywords = "".join(
                f", {key}={value!r}" for key, value in values.items() if value is not inspect.Parameter.empty
            )
            text = inspect.getdoc(import_module(part.__module__))
            text = re.sub(r"^\S.*", lambda line: line[0].replace("|", r"\|"), text, flags=re.MULTILINE)
            lines[:0] = [*re.sub(r"\n\n(?=    )", "\n\n::\n\n", text).splitlines(), ""]
            call = CALLS[package].format(name=module, options=values, keywords=keywords)
            lines += [
                "",
                ".. rubric:: Examples",
                "",
                ".. code-block:: python",
                "",
                *(f"   {line}" for line in call.splitlines()),
            ]


def _adapt(app, docname, source):
    """Add the contents of the site to README, captions to listings of files, and links to examples and packages."""
    source[0] = re.sub(r'^```(\w+) title="(.+)"$', r"```{code-block} \1\n:caption: \2", source[0], flags=re.MULTILINE)
    source[0] = re.sub(rf"examples/({'|'.join(EXAMPLES)})\.py", r"gallery/\1.rst", source[0])
    if docname.startswith("results/reference/") and docname != "results/reference/README":
        source[0] = f"---\nnosearch: true\n---\n\n{source[0]}"  # captions and tables
    if docname == "docs/library":
        source[0] = re.sub(r"^\| `(rbmbench[.\w]*)`", r"| [\1](api/\1.rst)", source[0], flags=re.MULTILINE)
        source[0] += "\n\n```{toctree}\n:hidden:\n:glob:\n\napi/*\n```\n"
    if docname == root_doc:
        for caption, pages in SECTIONS.items():
            entries = "\n".join(pages.split())
            source[0] += f"\n\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries}\n```\n"


def _drop_edit_link(app, name, template, context, doctree):
    """Remove the link to the source from pages that are no files of the repository."""
    if name.startswith(("docs/api/", "docs/gallery/")):
        context.pop("page_source_suffix", None)


def _finish(app, error):
    """Write the page of all kept results, and the first page of the site."""
    if not error:
        write_report(
            shown_folders(ROOT / "results" / "reference"), app.outdir / "report.html", ROOT / "config" / "config.yaml"
        )
        (app.outdir / "index.html").write_text(
            '<!doctype html><meta http-equiv="refresh" content="0; url=README.html">\n'
        )


def setup(app):
    """Connect the functions above to Sphinx."""
    app.connect("autodoc-process-docstring", _add_call)
    app.connect("html-page-context", _drop_edit_link)
    app.connect("source-read", _adapt)
    app.connect("build-finished", _finish)
