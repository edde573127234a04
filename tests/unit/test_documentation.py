"""The pages refer to files and headings that are there."""

import re

import pandas as pd
import pytest

LINK = re.compile(r"\]\(([^)#\s]*)#?([^)\s]*)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
PAGES = ["*.md", "docs/**/*.md", "config/*.md", "results/*.md", "results/reference/*.md"]


def anchors(page) -> set[str]:
    """The names under which headings can be linked to, as GitHub makes them."""
    headings = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(page.read_text("utf-8")))
    return {heading.strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("pattern", PAGES)
def test_links_lead_somewhere(repository, pattern):
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


def test_every_package_has_a_page_of_the_reference(repository):
    packages = {folder.parent.name for folder in repository.glob("src/rbmbench/*/__init__.py")}
    pages = {page.stem for page in repository.glob("docs/api/*.md")}
    assert pages - {"index"} == packages


def test_sums_of_the_readme_are_those_of_the_verdicts(repository):
    claims = pd.read_csv(repository / "results" / "reference" / "paper" / "claims.csv")
    found = {}
    for line in (repository / "README.md").read_text("utf-8").splitlines():
        if row := re.fullmatch(r"\| `(\w+)` \|.*\| (\d+) \| (\d+) \| (\d+) \|", line):
            found[row[1]] = tuple(map(int, row.groups()[1:]))
    verdicts = ("reproduced", "not reproduced", "inconclusive at this scale")
    papers = claims.groupby("paper")["verdict"]
    assert found == {paper: tuple((kinds == verdict).sum() for verdict in verdicts) for paper, kinds in papers}
