# SPDX-License-Identifier: BSD-3-Clause
"""Answers to the findings of a paper, from the verdicts on its claims."""

from collections.abc import Iterable, Iterator

from rbmbench.reporting.claims.files import VARIANT, ClaimFile, claims_of
from rbmbench.reporting.claims.verdict import NOT_REPRODUCED, NOT_RUN, REPRODUCED, Answer, Answered, Verdict

OF_PAPER = ("published", "check")
"""Classes of the claims that decide a finding that has any of them."""


def answer(holds: int, fails: int, run: int, of: int) -> Answer:
    """Return the answer to a finding from the numbers of its deciding claims.

    ``not run`` if none of them was run, and ``partly`` if some are reproduced and some are not. Otherwise all decided
    ones agree: the answer is ``undecided`` if they are fewer than half, and else ``yes`` or ``no``.

    Parameters
    ----------
    holds, fails, run, of : int
        Number of claims that are reproduced, that are not reproduced, that have been run, and of all.
    """
    if not run:
        return "not run"
    if holds and fails:
        return "partly"
    if 2 * (holds + fails) < of or not holds + fails:
        return "undecided"
    return "yes" if holds else "no"


def answers(paper: str, file: ClaimFile, verdicts: Iterable[Verdict]) -> Iterator[Answered]:
    """Yield the findings of a paper with their answers, in the order of its file of claims.

    Verdicts from other settings than the published ones (`VARIANT`) count as not run.
    """
    claims = {claim.id: claim for claim in claims_of(file, f"config/claims/{paper}.yaml")}
    run = {record.claim: record for record in verdicts if record.paper == paper and record.reason != NOT_RUN}
    for finding in file.findings:
        evidence = [claims[name] for name in finding.evidence(claims)]
        # Other readings of a setting, and claims that the paper does not make, decide only if there are no others.
        first = [claim for claim in evidence if claim.standing in OF_PAPER] or evidence
        ids = tuple(claim.id for claim in (*first, *(claim for claim in evidence if claim not in first)))
        judged = [run[claim.id] for claim in first if claim.id in run and run[claim.id].standing != VARIANT]
        figures = (run[name].shown for name in ids if name in run)
        holds, fails = (sum(record.verdict == verdict for record in judged) for verdict in (REPRODUCED, NOT_REPRODUCED))
        yield Answered(
            paper=paper,
            answer=answer(holds, fails, len(judged), len(first)),
            holds=holds,
            fails=fails,
            of=len(first),
            claims=ids,
            figure=f"{paper}_{finding.figure}" if finding.figure else next(filter(None, figures), ""),
            **finding.model_dump(include={"name", "text", "where", "headline", "reason"}),
        )
