# SPDX-License-Identifier: BSD-3-Clause
"""Write the answers of the kept verdicts, and the kept times of steps, into pages: ``python docs/answers.py``.

They are between ``<!-- answers: KIND [PAPER] -->`` and ``<!-- end -->``.
"""

import os
import re
from pathlib import Path

from rbmbench.base.parsing import parse
from rbmbench.config.layers import read_yaml
from rbmbench.io.results import read_json
from rbmbench.planning.specs import number_of
from rbmbench.reporting import speed
from rbmbench.reporting.claims.files import ClaimFile
from rbmbench.reporting.claims.findings import answers
from rbmbench.reporting.claims.verdict import read_verdicts

KEPT, TIMES = "results/reference/paper", "results/reference/benchmarks"
PAPERS = {
    "popcd": "Krause, Fischer, Igel (2018)",
    "ucd": "Qiu, Zhang, Wang (2020)",
    "cd_bias_bound": "Fischer, Igel (2011)",
    "rates_fpcd": "Breuleux, Bengio, Vincent (2011)",
    "sdcp": "Upadhya, Sastry (2017)",
}
PAGES = ("README.md", "docs/papers.md", "docs/speed.md")
BLOCK = re.compile(r"(<!-- answers: (\w+) ?(\w*) -->\n).*?(<!-- end -->)", re.DOTALL)


def written(text: str, root: Path) -> str:
    """Return the text of a page with the answers of the kept verdicts."""
    verdicts = read_verdicts(root / KEPT / "claims.json")
    files = {key: root / f"config/claims/{key}.yaml" for key in PAPERS}
    findings = {
        key: list(answers(key, parse(ClaimFile, read_yaml(file), str(file)), verdicts)) for key, file in files.items()
    }
    kinds = {"summary": lambda _: _summary(findings), "headlines": lambda key: _table(findings[key], root)}
    kinds["reasons"] = lambda key: _reasons(findings[key])
    kinds["steps"] = lambda _: _steps(root / TIMES)
    return BLOCK.sub(lambda match: f"{match[1]}{kinds[match[2]](match[3])}{match[4]}", text)


def _answer(finding) -> str:
    counts = f", {finding.holds} of {finding.of}" if finding.answer not in ("not run", "yes") else ""
    return f"**{finding.answer}**{counts}"


def _summary(findings: dict) -> str:
    lines = ["| paper | finding | does it hold? |", "|---|---|---|"]
    for key, paper_findings in findings.items():
        anchor = re.sub(r"[^\w\- ]", "", PAPERS[key].lower()).replace(" ", "-")
        name = f"[{PAPERS[key]}](docs/papers.md#{anchor})"
        for finding in paper_findings:
            if finding.headline and finding.of:
                lines.append(f"| {name} | {finding.text} | {_answer(finding)} |")
                name = ""
    return "\n".join(lines) + "\n"


def _table(findings: list, root: Path) -> str:
    lines = ["| finding | does it hold? | shown by |", "|---|---|---|"]
    for finding in filter(lambda finding: finding.headline, findings):
        kind = "figures" if "_fig" in finding.figure else "tables"
        file = f"{KEPT}/{kind}/{finding.figure}.{'png' if kind == 'figures' else 'md'}"
        link = f"[{number_of(finding.figure)}](../{file})" if finding.figure and os.path.isfile(root / file) else ""
        lines.append(f"| {finding.text} | {_answer(finding)} | {link} |")
    return "\n".join(lines) + "\n"


def _reasons(findings: list) -> str:
    """Return the statements that do not hold or are not decided, with the reasons, and those that were not run."""
    lines = [
        f"- **{finding.text}** {finding.answer.capitalize()}. {finding.reason}"
        for finding in findings
        if finding.answer in ("no", "partly", "undecided")
    ]
    not_run = " ".join(finding.text for finding in findings if finding.answer == "not run" and not finding.headline)
    return "\n".join([*lines, *([f"- Not run: {not_run}"] if not_run else [])]) + "\n"


def _steps(folder: Path) -> str:
    """Return the kept times of steps beside those of their dense products and of other programs."""
    lines = ["| step | ms | dense, ms | step / dense | other programs / step |", "|---|---|---|---|---|"]
    for step, bars in speed.step_bars(speed.read_steps(folder / "steps.csv")).groupby("step", sort=False):
        by_kind = {kind: bars[bars["kind"] == kind] for kind in (speed.FLOOR, speed.OURS, speed.PEER)}
        dense, ours = (by_kind[kind]["milliseconds"].iloc[0] for kind in (speed.FLOOR, speed.OURS))
        peers = (f"{peer} {t / ours:.1f}" for _, _, peer, t, _ in by_kind[speed.PEER].itertuples(index=False))
        lines.append(f"| {step} | {ours:.3g} | {dense:.3g} | {ours / dense:.2f} | {'; '.join(peers)} |")
    return "\n".join([*lines, "", f"{speed.conditions(read_json(folder / 'steps.meta.json'))}."]) + "\n"


if __name__ == "__main__":
    for name in PAGES:
        page = Path(__file__).parents[1] / name
        page.write_text(written(page.read_text("utf-8"), page.parents[name.count("/")]), "utf-8")
