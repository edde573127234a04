# SPDX-License-Identifier: BSD-3-Clause
"""Answers to findings, computed from the verdicts on their claims."""

import math

import pytest

from rbmbench.base.parsing import parse
from rbmbench.reporting.claims.files import ClaimFile
from rbmbench.reporting.claims.findings import answers
from rbmbench.reporting.claims.verdict import INCONCLUSIVE, NOT_REPRODUCED, REPRODUCED, Verdict

OF = {"y": REPRODUCED, "n": NOT_REPRODUCED, "?": INCONCLUSIVE}
NONE = "none"
"""A claim without a verdict in the results."""


def answered(*claims, listed=("own_*",)):
    """Return the answer to a finding whose claims have these classes and verdicts, such as ``published y``."""
    pairs = [claim.split() for claim in claims]
    entries, verdicts = [], []
    for number, (standing, outcome) in enumerate(pairs):
        words = {"where": "Figure 1", "text": "it holds"}
        of_claim = "published" if standing == "variant" else standing
        entry = {"id": f"own_{number}", "kind": "decline", "curve": "fig1.a.cd_1", "above": 0.1, "class": of_claim}
        entries.append(words | entry)
        if outcome != NONE:
            record = {"claim": f"own_{number}", "paper": "own", "class": standing, "what": "", "above": 0.1}
            record |= {"below": math.inf, "shown": "own_fig1"}
            record |= {"reason": "not run"} if outcome == "run" else {"verdict": OF[outcome]}
            verdicts.append(Verdict(**words, **record))
    finding = {"name": "it", "text": "It holds.", "where": "Abstract", "claims": list(listed)}
    file = parse(ClaimFile, {"findings": [finding], "claims": entries}, "test")
    (answer,) = answers("own", file, verdicts)
    return answer


@pytest.mark.parametrize(
    ("claims", "answer"),
    [
        (["published y"], "yes"),
        (["published n"], "no"),
        (["published ?"], "undecided"),
        (["published none"], "not run"),
        (["published run"], "not run"),
        # Claims that disagree.
        (["published y", "published n"], "partly"),
        (["published y", "published n", "published ?", "published ?", "published ?"], "partly"),
        # At least half of all claims must be decided, those that were not run included.
        (["published y", "published ?"], "yes"),
        (["published y", "published ?", "published ?"], "undecided"),
        (["published n", "published none"], "no"),
        (["published n", "published none", "published run"], "undecided"),
        # Checks count as published claims do; readings and own claims only without these.
        (["check y", "published n"], "partly"),
        (["published y", "reading n", "ours n"], "yes"),
        (["published none", "reading y"], "not run"),
        (["published ?", "reading y", "reading y"], "undecided"),
        (["reading y", "reading n"], "partly"),
        (["ours n", "reading n"], "no"),
        # Variants do not count as claims of the paper.
        (["variant y"], "not run"),
        (["variant y", "published n"], "no"),
        (["variant n", "variant n", "published y"], "undecided"),
    ],
)
def test_answer_to_a_finding_by_verdicts(claims, answer):
    assert answered(*claims).answer == answer


def test_answer_to_a_finding_without_claims_is_not_run():
    answer = answered("published y", listed=())
    assert (answer.answer, answer.claims, answer.of, answer.figure) == ("not run", (), 0, "")


def test_an_answer_has_the_claims_counts_and_figure_of_its_finding():
    answer = answered("reading y", "published y", "published n", "published none")
    assert answer.claims == ("own_1", "own_2", "own_3", "own_0")
    assert (answer.holds, answer.fails, answer.of, answer.figure) == (1, 1, 3, "own_fig1")
