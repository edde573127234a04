# SPDX-License-Identifier: BSD-3-Clause
"""Files of claims: accepted claims, and errors that name file, claim and key."""

import sys
from importlib.util import find_spec, module_from_spec

import pytest
import yaml

from rbmbench.cli import main
from rbmbench.reporting.claims import arguments
from rbmbench.reporting.claims.measurements import MEASUREMENTS
from rbmbench.reporting.claims.measurements._base import measures

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
CD_1 = {"algorithm": "cd_1", "time": 5.0}
TIMES = {"table1": {"entries": [CD_1, {"algorithm": "ucd", "time": 16.0}]}}
SIZE = {"kind": "order_of_magnitude", "entry": "table1.letters_16.cd_1", "quantity": "bias"}
VARIANCE = {"kind": "variance_ratio", "entry": "table1.letters_16.cd_1", "against": "table1.letters_16.pop_cd_1"}
VARIANCE |= {"below": 1.0}
BIAS = {"entries": [{"row": "letters_16", "algorithm": "cd_1", "bias": 0.02}]}
PRINTED = {"table1": BIAS}
SAMPLES = {"kind": "isl_difference", "curve": "fig2.a.gibbs", "against": "fig2.a.rates_fpcd", "above": 0.0}
STEPS = SAMPLES | {"kind": "chosen_option_ratio", "option": "fast_rate"}
COST = {"kind": "sample_cost_ratio", "curve": "fig2.a.rates_fpcd", "against": "fig2.a.gibbs", "below": 2.0}


def without(claim: dict, key: str) -> dict:
    return {name: value for name, value in claim.items() if name != key}


def doc(claim: dict, /, **top) -> dict:
    """Return a file of one claim, with id c."""
    return {"claims": [{"id": "c", "where": "Figure 2", "text": "so", **claim}], **top}


def printed(claim: dict, *entries: dict, **more) -> dict:
    """Return a file of one claim, with entries of the paper's Table 1."""
    return doc(claim, published_tables={"table1": {"entries": list(entries), **more}})


@pytest.fixture
def checked(config, tmp_path, capsys):
    """Return a function that checks claims on a paper with the command line, and returns exit code and stderr."""

    def check(key: str, values: dict) -> tuple[int, str]:
        (tmp_path / "config/config.yaml").write_text(yaml.safe_dump({"scale": "paper", "papers": [key]}))
        (tmp_path / f"config/claims/{key}.yaml").write_text(yaml.safe_dump(values))
        return main(["config", "check", "config/config.yaml"]), capsys.readouterr().err

    return check


def test_a_module_in_the_package_registers_its_measurements(tmp_path, monkeypatch):
    base = "rbmbench.reporting.claims.measurements._base"
    (tmp_path / "of_my_own.py").write_text(f"from {base} import measures\n\n@measures()\ndef mine(evidence): ...\n")
    specification = find_spec("rbmbench.reporting.claims.measurements")
    specification.submodule_search_locations.append(str(tmp_path))
    package = module_from_spec(specification)
    monkeypatch.setitem(sys.modules, specification.name, package)
    before = set(MEASUREMENTS)
    specification.loader.exec_module(package)
    assert set(MEASUREMENTS) == before | {"mine"}
    del MEASUREMENTS["mine"], sys.modules[f"{specification.name}.of_my_own"]


def test_a_measurement_without_annotations_raises():
    def mine(evidence, curve, share: float): ...

    with pytest.raises(TypeError, match="mine: arguments must be annotated, got curve"):
        measures()(mine)


def test_claims_of_all_kinds_are_accepted(checked):
    good = [ABOVE, GAP, AT, SPREAD, SHARE, RATIO, SMALLEST, REACH, TIME]
    claims = [{"id": f"c{number}", "where": "here", "text": "so", **claim} for number, claim in enumerate(good)]
    assert checked("ucd", {"claims": claims, "published_tables": TIMES}) == (0, "")
    for key, claims, printed in (("popcd", [SIZE, VARIANCE, STEP_TIME], PRINTED), ("rates_fpcd", [SAMPLES, COST], {})):
        claims = [{"id": f"c{number}", "where": "here", "text": "so", **claim} for number, claim in enumerate(claims)]
        assert checked(key, {"claims": claims, "published_tables": printed}) == (0, "")


C, T = "claim 'c': ", "published_tables.table1."
PANELS = [{"panel": "fig2.a"}, {"panel": "fig2.d"}]
FINDING = {"name": "it", "text": "It holds.", "where": "Abstract", "claims": ["c"]}
MISTAKES = {
    "ucd": [
        (ABOVE | {"kind": "final_diference"}, "kind: unknown kind 'final_diference'; nearest: 'fi"),
        (without(ABOVE, "kind"), "kind: is missing"),
        (ABOVE | {"standing": "ours"}, "standing: unknown key 'standing'; allowed: above"),
        (ABOVE | {"kind": ["decline"]}, "kind: must be a valid string, got a list"),
        (without(ABOVE, "against"), "against: is missing"),
        (ABOVE | {"metirc": "x"}, "metirc: unknown key 'metirc'; nearest: 'metric'"),
        (GAP | {"against": "fig2.a.cd_1"}, "against: unknown key 'against'"),
        (ABOVE | {"statistic": "peak"}, "statistic: unknown key"),
        (ABOVE | {"kind": "lead_after"}, "share: is missing"),
        (ABOVE | {"kind": "lead_after", "share": None}, "share: must be"),
        (AT | {"iteration": "100"}, "iteration: must "),
        (SHARE | {"within": True}, "within: must be a valid integer, got True"),
        (ABOVE | {"curve": ["fig2.a.ucd"]}, "curve: must be a valid string, got a list"),
        (SPREAD | {"curves": "fig2.a.ucd"}, "curves: must "),
        (SPREAD | {"curves": ["fig2.a.ucd"]}, "curves: must "),
        (REACH | {"share": 90}, "share: must be less than or equal to 1, got 90"),
        (ABOVE | {"curve": "fig22.a.ucd"}, "curve: unknown figure of learning curves 'fig22'; n"),
        (ABOVE | {"curve": "fig5.rbm.x"}, "curve: unknown figure of learning c"),
        (ABOVE | {"curve": "fig2.z.ucd"}, "curve: unknown panel 'fig2.z'; nearest: 'fig2."),
        (ABOVE | {"curve": "fig2.a.ucdd"}, "curve: unknown curve 'fig2.a.ucdd'; nearest: 'fig2.a.ucd'; allowed: "),
        (SPREAD | {"curves": ["fig2.a.ucd", "fig2.a.cd"]}, "curves.1: unknown curve 'fig2"),
        (ABOVE | {"curve": "fig2.ucd"}, "curve: unknown panel 'fig2.ucd'; nearest: 'fi"),
        (REACH | {"against": "fig2.d.cd_1"}, "against: unknown curve of the same"),
        (SMALLEST | {"curves": ["fig6.a.ucd"]}, "curves.0: unknown curve of an estimator w"),
        (SHARE | {"times": "fig5.rmb"}, "times: unknown coupling 'fig5.rmb'; nearest: 'fig5.r"),
        (AT | {"metric": "stoping_time"}, "metric: unknown metric 'stoping_time'; nearest: 'stop"),
        (GAP | {"reference": "true_model"}, "reference: unknown reference line of the panel 't"),
        (AT | {"iteration": 10_001}, "iteration: must be at most 10000, the published iterations of"),
        (RATIO | {"figures": ["fig5"]}, "figures.0: unknown figure of learning curves 'f"),
        (RATIO | {"algorithm": "cd_30"}, "algorithm: unknown algorithm of these figures 'cd_3"),
        (TIME | {"table": "table4"}, "table: unknown table of run times 'table4'; nearest: 'table"),
        (TIME, "algorithm: unknown algorithm with a published time 'ucd'; al"),
        (ABOVE | {"curve": "{pannel}.ucd", "each": [PANELS]}, "curve: unknown placeholder 'pannel'; nearest: 'panel'"),
        (ABOVE | {"curve": "{panel}.ucd"}, "curve: has {panel} without the key 'each'"),
        (ABOVE | {"text": "ends above {other}"}, "text: has {other} without the key 'each'"),
        (SPREAD | {"curves": ["{a}", "{b}"]}, "curves.0: has {a} without the key 'each'"),
        (ABOVE | {"each": []}, "each: must "),
        (ABOVE | {"each": [PANELS, []]}, "each.1: must "),
        (ABOVE | {"each": PANELS}, "each.0: must be a list, got a dict"),
        (ABOVE | {"each": [PANELS]}, "id: must be unique"),
        (ABOVE | {"needs": {"trails": 3}}, "needs.trails: unknown key 'trails'; nearest: 't"),
        (ABOVE | {"needs": {"trials": 0}}, "needs.trials: must be greater than or equal to 1, got 0"),
        (without(ABOVE, "above"), "above: 'above' or 'below' is missing"),
        (ABOVE | {"below": -1.0}, "above: must be less than 'below', -1, got 0"),
        (ABOVE | {"above": "high"}, "above: must be a valid number, got 'high'"),
        (TIME | {"above": 1.0}, "above: unknown key 'above'"),
    ],
    "popcd": [
        (VARIANCE | {"entry": "table1.letters.cd_1"}, "entry: unknown row 'table1.letters'; neare"),
        (VARIANCE | {"entry": "table1.letters_16.cd_2"}, "entry: unknown entry 'table1.let"),
        (SIZE | {"quantity": "biass"}, "quantity: must be 'bias' or 'variance', got 'biass'"),
        (SIZE, "entry: unknown entry with a published value 'table1.let"),
        (STEP_TIME | {"table": "table1"}, "table: unknown table of step times 'table1'; allowed: tablea_step_times"),
        (STEP_TIME | {"against": "pcd_1"}, "against: unknown algorithm of the table 'pcd_1'; nearest: "),
    ],
    "rates_fpcd": [
        (SAMPLES | {"curve": "fig2.a.gibs"}, "curve: unknown curve 'fig2.a.gibs'; neares"),
        (SAMPLES | {"samples": 10**6}, "samples: must be at most 200000, the published samples of the panel"),
        # Gibbs sampling has no fast rate.
        (STEPS, "option: unknown option in the grids of both samplers 'fa"),
        (COST | {"against": "fig3.b.gibbs"}, "against: unknown curve of"),
    ],
}
"""Invalid claims of each paper, and the beginning of their messages after the name of the claim."""
MISTAKES_OF_FILES = [
    ("ucd", doc(ABOVE, findings=[FINDING | {"claims": ["c", "d*"]}]), "findings.0.claims.1: unknown claim 'd*'"),
    ("ucd", doc(ABOVE, findings=[FINDING] * 2), "findings.1.name: must "),
    ("ucd", doc(ABOVE, findings=[FINDING | {"figure": "fig22"}]), "findings.0.figure: unknown figure or table 'fig22'"),
    ("ucd", doc(ABOVE, findings=[FINDING | {"claims": []}]), "claim 'c': of class published: must be in a finding"),
    ("ucd", doc(ABOVE, findings=[FINDING | {"headlin": True}]), "findings.0.headlin: unknown key"),
    ("ucd", {"claims": [{"kind": "decline"}]}, "claims.0.id: is missing"),
    ("ucd", doc(ABOVE, needs={"real_dat": True}), "needs.real_dat: unknown key 'real_dat'; nearest"),
    ("ucd", doc(ABOVE, claim=[]), "claim: unknown key 'claim'; nearest: 'claims'; allowed: claims, "),
    ("ucd", {"needs": {"trials": 3}}, "claims: is missing"),
    ("ucd", {"claims": {"id": "c"}}, "claims: must be a list, got a dict"),
    ("ucd", doc(ABOVE, lists={"panels": "fig2.a"}), "lists.panels: must be a list, got 'fig2.a'"),
    ("ucd", doc(ABOVE, published_tables={"table7": TIMES["table1"]}), "published_tables.table7: unknown"),
    (
        "sdcp",
        {"claims": [], "published_tables": {"tablea_step_times": {"x": 1}}},
        "published_tables.tablea_step_times.x:",
    ),
    ("popcd", doc(VARIANCE, published_tables=TIMES), "published_tables.table1.entries.0.row: is missing"),
    ("popcd", printed(VARIANCE, {"row": "letter_16", "algorithm": "cd_1"}), f"{T}entries.0.row: unknown row 'letter"),
    ("popcd", printed(VARIANCE, *BIAS["entries"], iterations={"mnist": 5}), f"{T}iterations: unknown row 'mnist'"),
    ("ucd", printed(TIME, {"algorithm": "cd1", "time": 5.0}), f"{T}entries.0.algorithm: unknown algorithm 'cd1'"),
    ("ucd", printed(TIME, CD_1 | {"time": "5 s"}), f"{T}entries.0.time: must be a valid number, got '5 s'"),
    ("ucd", printed(TIME, {"algorithm": "cd_1", "tiem": 5.0}), f"{T}entries.0.time: is missing"),
    ("ucd", printed(TIME, CD_1, unit="hours"), f"{T}unit: must be 'seconds' or 'minutes', got 'hours'"),
    ("ucd", printed(TIME, CD_1, CD_1), f"{T}entries.1: must have each entry once, got cd_1 twice"),
]


@pytest.mark.parametrize(
    ("key", "values", "message"),
    [*MISTAKES_OF_FILES, *((key, doc(claim), C + line) for key, claims in MISTAKES.items() for claim, line in claims)],
)
def test_invalid_files_of_claims_raise_a_one_line_error(checked, key, values, message):
    code, error = checked(key, values)
    assert code == 2
    assert error.startswith(f"rbmbench: error: config/claims/{key}.yaml: {message}")
    assert error.count("\n") == 1


def test_two_papers_with_a_claim_of_one_id_are_an_error(checked, tmp_path, capsys):
    checked("ucd", doc(ABOVE))
    (tmp_path / "config/config.yaml").write_text(yaml.safe_dump({"scale": "paper", "papers": ["popcd", "ucd"]}))
    other = ABOVE | {"curve": "fig1.a.pop_cd_1", "against": "fig1.a.cd_1"}
    (tmp_path / "config/claims/popcd.yaml").write_text(yaml.safe_dump(doc(other)))
    assert main(["config", "check", "config/config.yaml"]) == 2
    words = "config/claims/ucd.yaml: claim 'c': id: must be unique, got one of config/claims/popcd.yaml"
    assert words in capsys.readouterr().err


def test_claims_may_name_curves_that_an_overlay_adds(checked, repository, tmp_path):
    added = {"algorithms": {"cd_3": {"label": "CD-3", "estimator": "cd", "options": {"k": 3}}}}
    added |= {"figures": {"fig2": {"algorithms": ["cd_1", "cd_3", "pcd_1", "ucd"]}}}
    overlay = {"scale": "tiny", "overrides": {"ucd": added}}
    (tmp_path / "config/tiny.yaml").write_text(yaml.safe_dump(overlay))
    code, error = checked("ucd", doc(ABOVE | {"against": "fig2.a.cd_3"}))
    assert (code, "unknown curve 'fig2.a.cd_3'" in error) == (2, True)
    assert main(["config", "check", "config/config.yaml", "config/tiny.yaml"]) == 0


def test_claims_may_name_panels_that_an_overlay_leaves_out(checked, tmp_path):
    overlay = {"scale": "tiny", "overrides": {"ucd": {"figures": {"fig2": {"panels": {"a": None}}}}}}
    (tmp_path / "config/tiny.yaml").write_text(yaml.safe_dump(overlay))
    checked("ucd", doc(ABOVE))
    assert main(["config", "check", "config/config.yaml", "config/tiny.yaml"]) == 0


def test_text_arguments_of_measurements_have_a_mark_or_choices():
    unchecked = [
        (kind, name)
        for kind, measurement in MEASUREMENTS.items()
        for name, parameter in measurement.arguments.items()
        if "str" in str(parameter.annotation) or parameter.annotation is str
        if arguments.mark_of(parameter.annotation) is None
    ]
    assert unchecked == []
