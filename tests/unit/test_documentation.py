# SPDX-License-Identifier: BSD-3-Clause
"""Links, tables and generated answers in the documentation."""

import inspect
import re
import runpy

import pandas as pd
import pytest

import rbmbench

LINK = re.compile(r"\]\(([^)#\s]*)#?([^)\s]*)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
PAGES = ["*.md", "docs/**/*.md", "config/*.md", "results/*.md", "results/reference/*.md"]


def anchors(page) -> set[str]:
    """Return the anchors of headings, as GitHub makes them."""
    headings = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(page.read_text("utf-8")))
    return {heading.strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("pattern", PAGES)
def test_links_have_targets(repository, pattern):
    pages = list(repository.glob(pattern))
    assert pages
    for page in pages:
        name = page.relative_to(repository)
        for path, anchor in LINK.findall(page.read_text("utf-8")):
            if path.startswith("http"):
                continue
            target = page.parent / path if path else page
            assert target.exists(), f"{name} links to {path}, which is not there"
            assert not anchor or anchor in anchors(target), f"{name} links to {path}#{anchor}: no such heading"


def test_every_public_package_is_in_the_table_of_the_library(repository):
    packages = {name for name in rbmbench.__all__ if inspect.ismodule(getattr(rbmbench, name))}
    rows = re.findall(r"^\| `rbmbench\.(\w+)`", (repository / "docs" / "library.md").read_text("utf-8"), re.MULTILINE)
    assert set(rows) == packages


@pytest.mark.parametrize("page", ["README.md", "docs/papers.md", "docs/speed.md"])
def test_answers_in_the_pages_are_those_of_the_kept_verdicts(repository, page):
    """`python docs/answers.py` writes them."""
    text = (repository / page).read_text("utf-8")
    assert runpy.run_path(str(repository / "docs" / "answers.py"))["written"](text, repository) == text
    assert "<!-- answers: " in text


@pytest.mark.parametrize("scale", ["paper", "desktop"])
def test_every_kept_verdict_could_have_failed(repository, scale):
    claims = pd.read_csv(repository / "results" / "reference" / scale / "claims.csv")
    judged = claims[claims["verdict"] != "inconclusive at this scale"]
    assert len(judged) > 30
    assert judged.loc[judged["fails"].isna() | (judged["fails"] == "none"), "claim"].tolist() == []
