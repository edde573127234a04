# SPDX-License-Identifier: BSD-3-Clause
"""The pages refer to files and headings that are there."""

import re

import pandas as pd
import pytest
import yaml

from rbmbench.reporting.claims.files import expanded
from rbmbench.reporting.claims.measurements import MEASUREMENTS

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


@pytest.mark.parametrize("paper", ["popcd", "ucd", "cd_bias_bound", "rates_fpcd", "sdcp"])
def test_what_was_tried_about_a_claim_is_told(repository, paper):
    entries = yaml.safe_load((repository / f"config/claims/{paper}.yaml").read_text("utf-8"))["claims"]
    told = {claim["discussed"] for entry in entries for claim in expanded(entry) if claim.get("discussed")}
    assert told - anchors(repository / "docs/papers.md") == set()


def test_every_measurement_is_told(repository):
    page = (repository / "docs/reproducing.md").read_text("utf-8")
    assert [name for name in MEASUREMENTS if f"| `{name}` |" not in page] == []


def test_every_package_has_a_page_of_the_reference(repository):
    packages = {folder.parent.name for folder in repository.glob("src/rbmbench/*/__init__.py")}
    pages = {page.stem for page in repository.glob("docs/api/*.md")}
    assert pages - {"index"} == packages


def test_sums_of_the_readme_are_those_of_the_verdicts(repository):
    claims = pd.read_csv(repository / "results" / "reference" / "paper" / "claims.csv")
    verdicts = ("reproduced", "not reproduced", "inconclusive at this scale", "not judged")
    claims["found"] = claims["verdict"].where(claims["judged"], verdicts[-1])
    found, of_readings = {}, {}
    for line in (repository / "README.md").read_text("utf-8").splitlines():
        if row := re.fullmatch(r"\| `(\w+)` \|.*" + r"\| (\d+) " * 4 + r"\| (?:(\d+), (\d+), (\d+) )?\|", line):
            found[row[1]], readings = tuple(map(int, row.groups()[1:5])), row.groups()[5:]
            of_readings |= {row[1]: (*map(int, readings), 0)} if readings[0] else {}
    for standing, sums in {"published": found, "reading": of_readings}.items():
        papers = claims[claims["class"] == standing].groupby("paper")["found"]
        assert sums == {paper: tuple((kinds == verdict).sum() for verdict in verdicts) for paper, kinds in papers}
    counted = claims["class"].isin(["published", "reading"])
    others = claims[~counted].groupby("class")["verdict"].agg(["size", lambda kinds: (kinds == verdicts[0]).sum()])
    text = " ".join((repository / "README.md").read_text("utf-8").split())
    told = re.search(r"(\d+) checks, .*? \((\d+) hold\), and (\d+) claims of ours .*? \((\d+) hold\)", text)
    assert list(map(int, told.groups())) == others.loc[["check", "ours"]].to_numpy().ravel().tolist()


@pytest.mark.parametrize("scale", ["paper", "desktop"])
def test_every_kept_finding_could_have_failed(repository, scale):
    claims = pd.read_csv(repository / "results" / "reference" / scale / "claims.csv")
    judged = claims[claims["verdict"] != "inconclusive at this scale"]
    assert len(judged) > 30
    assert judged.loc[judged["fails"].isna() | (judged["fails"] == "none"), "claim"].tolist() == []
