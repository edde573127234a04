# SPDX-License-Identifier: BSD-3-Clause
"""Files of claims are checked with the configuration: every mistake is one line that names file, claim and key."""

import shutil
import sys
from importlib.util import find_spec, module_from_spec

import pytest
import yaml

from rbmbench.cli import main
from rbmbench.reporting.claims import arguments
from rbmbench.reporting.claims.measurements import MEASUREMENTS

ABOVE = {"kind": "final_difference", "curve": "fig2.a.ucd", "against": "fig2.a.cd_1", "above": 0.0}
GAP = {"kind": "final_gap", "curve": "fig2.a.ucd", "reference": "maximum", "above": -0.1}
AT = {"kind": "metric_at", "curve": "fig2.b.ucd", "metric": "stopping_time", "iteration": 10_000, "above": 1.0}
SPREAD = {"kind": "final_spread", "curves": ["fig2.a.ucd", "fig2.a.cd_1"], "below": 0.1}
SHARE = {"kind": "stopping_time_share", "times": "fig5.rbm", "within": 10, "above": 0.5}
RATIO = {"kind": "run_time_ratio", "figures": ["fig2"], "algorithm": "ucd", "against": "cd_1", "below": 2.0}
SMALLEST = {"kind": "smallest_within", "curves": ["fig6.a.cd_1"], "against": "fig6.a.ucd", "tolerance": 0.1, "above": 1}
REACH = {"kind": "reach_difference", "curve": "fig2.a.ucd", "against": "fig2.a.cd_1", "share": 0.9, "above": 0}
STEP_TIME = {"kind": "step_time_ratio", "table": "tablea_step_times", "algorithm": "pt_10", "against": "cd_1"}
STEP_TIME |= {"above": 2.0}
TIME = {"kind": "run_time_magnitude", "table": "table1", "algorithm": "ucd"}
TIMES = {"table1": {"entries": [{"algorithm": "cd_1", "time": 5.0}, {"algorithm": "ucd", "time": 16.0}]}}
SIZE = {"kind": "order_of_magnitude", "entry": "table1.letters_16.cd_1", "quantity": "bias"}
VARIANCE = {"kind": "variance_ratio", "entry": "table1.letters_16.cd_1", "against": "table1.letters_16.pop_cd_1"}
VARIANCE |= {"below": 1.0}
PRINTED = {"table1": {"entries": [{"row": "letters_16", "algorithm": "cd_1", "bias": 0.02}]}}
SAMPLES = {"kind": "isl_difference", "curve": "fig2.a.gibbs", "against": "fig2.a.rates_fpcd", "above": 0.0}
STEPS = SAMPLES | {"kind": "chosen_option_ratio", "option": "fast_rate"}
COST = {"kind": "sample_cost_ratio", "curve": "fig2.a.rates_fpcd", "against": "fig2.a.gibbs", "below": 2.0}


def without(claim: dict, key: str) -> dict:
    return {name: value for name, value in claim.items() if name != key}


def one(claim: dict, /, **top) -> dict:
    """Return a file of one claim, whose id is c."""
    return {"claims": [{"id": "c", "where": "Figure 2", "text": "so", **claim}], **top}


@pytest.fixture
def checked(repository, tmp_path, monkeypatch, capsys):
    """Return what runs `rbmbench config check` on one paper with other claims; it returns the exit code and stderr."""
    shutil.copytree(repository / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)

    def check(key: str, values: dict) -> tuple[int, str]:
        (tmp_path / "config/config.yaml").write_text(yaml.safe_dump({"scale": "paper", "papers": [key]}))
        (tmp_path / f"config/claims/{key}.yaml").write_text(yaml.safe_dump(values))
        return main(["config", "check", "config/config.yaml"]), capsys.readouterr().err

    return check


def test_a_measurement_is_one_file(tmp_path, monkeypatch):
    code = (
        "from rbmbench.reporting.claims.measurements._base import measures\n\n\n@measures()\ndef mine(evidence): ...\n"
    )
    (tmp_path / "of_my_own.py").write_text(code)
    specification = find_spec("rbmbench.reporting.claims.measurements")
    specification.submodule_search_locations.append(str(tmp_path))
    package = module_from_spec(specification)
    monkeypatch.setitem(sys.modules, specification.name, package)
    before = set(MEASUREMENTS)
    specification.loader.exec_module(package)
    assert set(MEASUREMENTS) == before | {"mine"}
    del MEASUREMENTS["mine"], sys.modules[f"{specification.name}.of_my_own"]


def test_claims_of_all_kinds_are_accepted(checked):
    good = [ABOVE, GAP, AT, SPREAD, SHARE, RATIO, SMALLEST, REACH, TIME]
    claims = [{"id": f"c{number}", "where": "here", "text": "so", **claim} for number, claim in enumerate(good)]
    assert checked("ucd", {"claims": claims, "published_tables": TIMES}) == (0, "")
    for key, claims, printed in (("popcd", [SIZE, VARIANCE, STEP_TIME], PRINTED), ("rates_fpcd", [SAMPLES, COST], {})):
        claims = [{"id": f"c{number}", "where": "here", "text": "so", **claim} for number, claim in enumerate(claims)]
        assert checked(key, {"claims": claims, "published_tables": printed}) == (0, "")


C = "claim 'c': "
PANELS = [{"panel": "fig2.a"}, {"panel": "fig2.d"}]
FINDING = {"name": "it", "text": "It holds.", "where": "Abstract", "claims": ["c"]}
MISTAKES = {
    "finding of an unknown claim": (
        "ucd",
        one(ABOVE, findings=[FINDING | {"claims": ["c", "d*"]}]),
        "findings.0.claims.1: unknown claim 'd*'",
    ),
    "findings of one name": ("ucd", one(ABOVE, findings=[FINDING] * 2), "findings.1.name: must "),
    "figure of a finding": (
        "ucd",
        one(ABOVE, findings=[FINDING | {"figure": "fig22"}]),
        "findings.0.figure: unknown figure or table 'fig22'; nearest: 'fig2",
    ),
    "claim without a finding": (
        "ucd",
        one(ABOVE, findings=[FINDING | {"claims": []}]),
        "claim 'c': of class published: must be in a finding",
    ),
    "key of a finding": ("ucd", one(ABOVE, findings=[FINDING | {"headlin": True}]), "findings.0.headlin: unknown key"),
    "kind": ("ucd", one(ABOVE | {"kind": "final_diference"}), f"{C}kind: unknown kind 'final_diference'; nearest: 'fi"),
    "kind missing": ("ucd", one(without(ABOVE, "kind")), f"{C}kind: is missing"),
    "kind no text": ("ucd", one(ABOVE | {"kind": ["decline"]}), f"{C}kind: must be a valid string, got a list"),
    "argument missing": ("ucd", one(without(ABOVE, "against")), f"{C}against: is missing"),
    "attribute": ("ucd", one(ABOVE | {"standing": "ours"}), f"{C}standing: unknown key 'standing'; allowed: above"),
    "argument misspelt": ("ucd", one(ABOVE | {"metirc": "x"}), f"{C}metirc: unknown key 'metirc'; nearest: 'metric'"),
    "argument of another kind": ("ucd", one(GAP | {"against": "fig2.a.cd_1"}), f"{C}against: unknown key 'against'"),
    "argument that an alias fixes": ("ucd", one(ABOVE | {"statistic": "peak"}), f"{C}statistic: unknown key"),
    "argument that an alias requires": ("ucd", one(ABOVE | {"kind": "lead_after"}), f"{C}share: is missing"),
    "null for such an argument": ("ucd", one(ABOVE | {"kind": "lead_after", "share": None}), f"{C}share: must be"),
    "argument of another type": ("ucd", one(AT | {"iteration": "100"}), f"{C}iteration: must "),
    "truth value for a number": ("ucd", one(SHARE | {"within": True}), f"{C}within: must be a valid integer, got True"),
    "list for a text": ("ucd", one(ABOVE | {"curve": ["fig2.a.ucd"]}), f"{C}curve: must be a valid string, got a list"),
    "text for a list": ("ucd", one(SPREAD | {"curves": "fig2.a.ucd"}), f"{C}curves: must "),
    "too short a list": ("ucd", one(SPREAD | {"curves": ["fig2.a.ucd"]}), f"{C}curves: must "),
    "share above one": ("ucd", one(REACH | {"share": 90}), f"{C}share: must be less than or equal to 1, got 90"),
    "figure": ("ucd", one(ABOVE | {"curve": "fig22.a.ucd"}), f"{C}curve: unknown figure of learning curves 'fig22'; n"),
    "figure of another kind": ("ucd", one(ABOVE | {"curve": "fig5.rbm.x"}), f"{C}curve: unknown figure of learning c"),
    "panel": ("ucd", one(ABOVE | {"curve": "fig2.z.ucd"}), f"{C}curve: unknown panel 'fig2.z'; nearest: 'fig2."),
    "curve": (
        "ucd",
        one(ABOVE | {"curve": "fig2.a.ucdd"}),
        f"{C}curve: unknown curve 'fig2.a.ucdd'; nearest: 'fig2.a.ucd'; allowed: fig2.a.cd_1, fig2.a.pcd_1, fig2.a.ucd",
    ),
    "curve in a list": (
        "ucd",
        one(SPREAD | {"curves": ["fig2.a.ucd", "fig2.a.cd"]}),
        f"{C}curves.1: unknown curve 'fig2",
    ),
    "form of a name": ("ucd", one(ABOVE | {"curve": "fig2.ucd"}), f"{C}curve: unknown panel 'fig2.ucd'; nearest: 'fi"),
    "curve of another panel": (
        "ucd",
        one(REACH | {"against": "fig2.d.cd_1"}),
        f"{C}against: unknown curve of the same",
    ),
    "curve without k": (
        "ucd",
        one(SMALLEST | {"curves": ["fig6.a.ucd"]}),
        f"{C}curves.0: unknown curve of an estimator w",
    ),
    "row": (
        "popcd",
        one(VARIANCE | {"entry": "table1.letters.cd_1"}),
        f"{C}entry: unknown row 'table1.letters'; neare",
    ),
    "estimator": ("popcd", one(VARIANCE | {"entry": "table1.letters_16.cd_2"}), f"{C}entry: unknown entry 'table1.let"),
    "quantity": ("popcd", one(SIZE | {"quantity": "biass"}), f"{C}quantity: must be 'bias' or 'variance', got 'biass'"),
    "entry that is not published": ("popcd", one(SIZE), f"{C}entry: unknown entry with a published value 'table1.let"),
    "coupling": ("ucd", one(SHARE | {"times": "fig5.rmb"}), f"{C}times: unknown coupling 'fig5.rmb'; nearest: 'fig5.r"),
    "sampler": (
        "rates_fpcd",
        one(SAMPLES | {"curve": "fig2.a.gibs"}),
        f"{C}curve: unknown curve 'fig2.a.gibs'; neares",
    ),
    "samples": (
        "rates_fpcd",
        one(SAMPLES | {"samples": 10**6}),
        f"{C}samples: must be at most 200000, the published samples of the panel, got 1000000",
    ),
    # Gibbs sampling has no fast rate.
    "option of one sampler": ("rates_fpcd", one(STEPS), f"{C}option: unknown option in the grids of both samplers 'fa"),
    "sampler of another panel": (
        "rates_fpcd",
        one(COST | {"against": "fig3.b.gibbs"}),
        f"{C}against: unknown curve of",
    ),
    "metric": (
        "ucd",
        one(AT | {"metric": "stoping_time"}),
        f"{C}metric: unknown metric 'stoping_time'; nearest: 'stop",
    ),
    "reference": (
        "ucd",
        one(GAP | {"reference": "true_model"}),
        f"{C}reference: unknown reference line of the panel 't",
    ),
    "iteration": (
        "ucd",
        one(AT | {"iteration": 10_001}),
        f"{C}iteration: must be at most 10000, the published iterations of the curve, got 10001",
    ),
    "figure in a list": (
        "ucd",
        one(RATIO | {"figures": ["fig5"]}),
        f"{C}figures.0: unknown figure of learning curves 'f",
    ),
    "algorithm": (
        "ucd",
        one(RATIO | {"algorithm": "cd_30"}),
        f"{C}algorithm: unknown algorithm of these figures 'cd_3",
    ),
    "table": (
        "ucd",
        one(TIME | {"table": "table4"}),
        f"{C}table: unknown table of run times 'table4'; nearest: 'table",
    ),
    "table of step times": (
        "popcd",
        one(STEP_TIME | {"table": "table1"}),
        f"{C}table: unknown table of step times 'table1'; allowed: tablea_step_times",
    ),
    "algorithm that is not timed": (
        "popcd",
        one(STEP_TIME | {"against": "pcd_1"}),
        f"{C}against: unknown algorithm of the table 'pcd_1'; nearest: ",
    ),
    "time that is not published": (
        "ucd",
        one(TIME),
        f"{C}algorithm: unknown algorithm with a published time 'ucd'; al",
    ),
    "placeholder": (
        "ucd",
        one(ABOVE | {"curve": "{pannel}.ucd", "each": [PANELS]}),
        f"{C}curve: unknown placeholder 'pannel'; nearest: 'panel'; allowed: panel",
    ),
    "placeholder without each": (
        "ucd",
        one(ABOVE | {"curve": "{panel}.ucd"}),
        f"{C}curve: found {{panel}} without the key 'each'",
    ),
    "placeholder in the text": (
        "ucd",
        one(ABOVE | {"text": "ends above {other}"}),
        f"{C}text: found {{other}} without the key 'each'",
    ),
    "placeholder in a list": (
        "ucd",
        one(SPREAD | {"curves": ["{a}", "{b}"]}),
        f"{C}curves.0: found {{a}} without the key 'each'",
    ),
    "each empty": ("ucd", one(ABOVE | {"each": []}), f"{C}each: must "),
    "list of each empty": ("ucd", one(ABOVE | {"each": [PANELS, []]}), f"{C}each.1: must "),
    "each without lists": ("ucd", one(ABOVE | {"each": PANELS}), f"{C}each.0: must be a list, got a dict"),
    "id twice": ("ucd", one(ABOVE | {"each": [PANELS]}), f"{C}id: must be unique"),
    "id missing": ("ucd", {"claims": [{"kind": "decline"}]}, "claims.0.id: is missing"),
    "key of needs": (
        "ucd",
        one(ABOVE | {"needs": {"trails": 3}}),
        f"{C}needs.trails: unknown key 'trails'; nearest: 't",
    ),
    "value of needs": (
        "ucd",
        one(ABOVE | {"needs": {"trials": 0}}),
        f"{C}needs.trials: must be greater than or equal to 1, got 0",
    ),
    "needs of the file": (
        "ucd",
        one(ABOVE, needs={"real_dat": True}),
        "needs.real_dat: unknown key 'real_dat'; nearest",
    ),
    "range missing": ("ucd", one(without(ABOVE, "above")), f"{C}above: 'above' or 'below' is missing"),
    "range empty": ("ucd", one(ABOVE | {"below": -1.0}), f"{C}above: must be less than 'below', -1, got 0"),
    "range no number": (
        "ucd",
        one(ABOVE | {"above": "high"}),
        f"{C}above: must be a valid number, unable to parse string as a number, got 'high'",
    ),
    "range that is not asked for": ("ucd", one(TIME | {"above": 1.0}), f"{C}above: unknown key 'above'"),
    "key of the file": (
        "ucd",
        one(ABOVE, claim=[]),
        "claim: unknown key 'claim'; nearest: 'claims'; allowed: claims, ",
    ),
    "claims missing": ("ucd", {"needs": {"trials": 3}}, "claims: is missing"),
    "claims no list": ("ucd", {"claims": {"id": "c"}}, "claims: must be a list, got a dict"),
    "lists": ("ucd", one(ABOVE, lists={"panels": "fig2.a"}), "lists.panels: must be a list, got 'fig2.a'"),
    "published table": (
        "ucd",
        one(ABOVE, published_tables={"table7": TIMES["table1"]}),
        "published_tables.table7: unknown",
    ),
    "published table of another kind": (
        "popcd",
        one(VARIANCE, published_tables=TIMES),
        "published_tables.table1.entries.0.row: is missing",
    ),
    "published row": (
        "popcd",
        one(VARIANCE, published_tables={"table1": {"entries": [{"row": "letter_16", "algorithm": "cd_1"}]}}),
        "published_tables.table1.entries.0.row: unknown row 'letter_16'; nearest: 'letters_16'; allowed: ",
    ),
    "published row of iterations": (
        "popcd",
        one(VARIANCE, published_tables={"table1": PRINTED["table1"] | {"iterations": {"mnist": 5}}}),
        "published_tables.table1.iterations: unknown row 'mnist'; nearest: 'mnist_16'; allowed: ",
    ),
    "published algorithm": (
        "ucd",
        one(TIME, published_tables={"table1": {"entries": [{"algorithm": "cd1", "time": 5.0}]}}),
        "published_tables.table1.entries.0.algorithm: unknown algorithm 'cd1'; nearest: 'cd_1'; allowed: ",
    ),
    "published number": (
        "ucd",
        one(TIME, published_tables={"table1": {"entries": [{"algorithm": "cd_1", "time": "5 s"}]}}),
        "published_tables.table1.entries.0.time: must be a valid number, got '5 s'",
    ),
    "published key": (
        "ucd",
        one(TIME, published_tables={"table1": {"entries": [{"algorithm": "cd_1", "tiem": 5.0}]}}),
        "published_tables.table1.entries.0.time: is missing",
    ),
    "published unit": (
        "ucd",
        one(TIME, published_tables={"table1": TIMES["table1"] | {"unit": "hours"}}),
        "published_tables.table1.unit: must be 'seconds' or 'minutes', got 'hours'",
    ),
    "published entry twice": (
        "ucd",
        one(TIME, published_tables={"table1": {"entries": [{"algorithm": "cd_1", "time": 5.0}] * 2}}),
        "published_tables.table1.entries.1: must have each entry once, got cd_1 twice",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused_before_any_work(checked, mistake):
    key, values, told = MISTAKES[mistake]
    code, error = checked(key, values)
    assert code == 2
    assert error.startswith(f"rbmbench: error: config/claims/{key}.yaml: {told}")
    assert error.count("\n") == 1


def test_claims_may_name_what_an_overlay_adds(checked, repository, tmp_path):
    added = {"algorithms": {"cd_3": {"label": "CD-3", "estimator": "cd", "options": {"k": 3}}}}
    added |= {"figures": {"fig2": {"algorithms": ["cd_1", "cd_3", "pcd_1", "ucd"]}}}
    overlay = {"scale": "tiny", "overrides": {"ucd": added}}
    (tmp_path / "config/tiny.yaml").write_text(yaml.safe_dump(overlay))
    code, error = checked("ucd", one(ABOVE | {"against": "fig2.a.cd_3"}))
    assert (code, "unknown curve 'fig2.a.cd_3'" in error) == (2, True)
    assert main(["config", "check", "config/config.yaml", "config/tiny.yaml"]) == 0


def test_claims_may_name_what_an_overlay_leaves_out(checked, tmp_path):
    overlay = {"scale": "tiny", "overrides": {"ucd": {"figures": {"fig2": {"panels": {"a": None}}}}}}
    (tmp_path / "config/tiny.yaml").write_text(yaml.safe_dump(overlay))
    checked("ucd", one(ABOVE))
    assert main(["config", "check", "config/config.yaml", "config/tiny.yaml"]) == 0


def test_every_name_among_the_arguments_is_checked():
    """An argument that is a text or an iteration has a mark, or a choice of words."""
    plain = [
        (kind, name)
        for kind, measurement in MEASUREMENTS.items()
        for name, parameter in measurement.arguments.items()
        if "str" in str(parameter.annotation) or parameter.annotation is str
        if arguments.mark_of(parameter.annotation) is None
    ]
    assert plain == []
