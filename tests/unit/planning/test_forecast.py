# SPDX-License-Identifier: BSD-3-Clause
"""Forecasts of run times from generated records of known costs, from recorded jobs, and without records."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from own_data import refused
from planned import ids_shown, planned_here

from rbmbench import cli
from rbmbench.base.parsing import parse
from rbmbench.base.settings import (
    AnnealingSettings,
    CouplingSettings,
    EstimateSettings,
    GroundTruthSettings,
    Proxy,
    RunSettings,
    SamplingSettings,
    Tempering,
)
from rbmbench.estimators import trajectory_tempering
from rbmbench.io.atomic import write_json
from rbmbench.jobs import Sizes, _costs, couple, of_name, sample
from rbmbench.measurements.meeting_times import coupled_stopping_times
from rbmbench.model.work import ASSUMED_STOPPING_TIME, MEGABYTES, SECONDS
from rbmbench.planning.forecast import costs, jobs, records
from rbmbench.planning.jobs import Job, Plan

MACHINE = "Fast, numba kernels"
COLUMNS = ("result", "jobs", "done", "processor_seconds", "wall_seconds", "cores", "memory_mb", "basis")
# Costs of a machine that are not the defaults times one factor.
FACTORS = (0.7, 1.1, 1.5, 2.0)
COSTS = {name: cost * FACTORS[number % 4] for number, (name, cost) in enumerate(SECONDS.items())}
ESTIMATORS = [("cd", {"k": 1}), ("cd", {"k": 10}), ("pop_cd", {"k": 1}), ("parallel_tempering", {"temperatures": 7})]


def run_settings(hidden=16, batch=50, iterations=20_000, trials=3, estimator="cd", options=None, every=100):
    stage = {"until": iterations, "estimator": {"name": estimator, "options": options or {}}, "rate": 0.1}
    values = {"data": {"name": "made"}, "hidden": hidden, "batch": batch, "schedule": [stage], "trials": trials}
    return parse(RunSettings, values | {"evaluate_every": every}, "test")


def total(costs, counts):
    return sum(costs[name] * count for name, count in counts.items())


def seconds(work, costs=COSTS):
    return sum(total(costs, counts) for counts in work.stages.values())


def sizes_of(settings, rows, m, stopping_time=None):
    expected = {} if stopping_time is None else {"stopping_time": stopping_time}
    return Sizes(rows, m, settings.hidden, settings.trials, {}, settings, expected)


def training_work(settings, rows, m, stopping_time=None):
    return of_name("train").work(settings, sizes_of(settings, rows, m, stopping_time))


def training_counts(m=17, stopping_time=None, **changes):
    return training_work(run_settings(**changes), 1009, m, stopping_time).stages["training"]


def measuring_work(kind, settings, rows, m, n, trials, held_out=None):
    return of_name(kind).work(settings, Sizes(rows, m, n, trials, held_out or {}))


def run_meta(settings, rows, visible, costs=COSTS, cpu="Fast", busy=1.0):
    """Return the meta of a run of these costs, whose wall times are ``busy`` times its processor times."""
    took = {stage: total(costs, counts) for stage, counts in training_work(settings, rows, visible).stages.items()}
    wall = {f"{stage}_seconds": took[stage] * busy for stage in ("training", "evaluation")}
    wall |= {"startup_seconds": took["startup"], "training_cpu_seconds": took["training"]}
    meta = {"run": f"made-{settings.hidden}h-{settings.digest()}", "finished": "2026-01-02", "trials": settings.trials}
    meta |= {"settings": settings.model_dump(mode="json"), "wall": wall, "hardware": {"cpu": cpu}, "threads": 1}
    meta |= {"data": {"title": f"Made {visible}", "rows": {"train": rows}, "visible": visible}}
    meta |= {"peak_memory_mb": total(MEGABYTES, training_work(settings, rows, visible).memory)}
    return meta | {"backend": "numba", "backend_products": "tables"}


def varied_metas(costs=COSTS, **changes):
    return [
        run_meta(run_settings(hidden, batch, iterations, trials, *estimator), rows, visible, costs, **changes)
        for visible, rows, hidden, batch, iterations, trials in (
            (17, 1009, 16, 31, 50_000, 23),
            (127, 5003, 13, 251, 20_000, 5),
            (787, 20_011, 16, 503, 11_000, 3),
            (787, 20_011, 499, 101, 3000, 1),
        )
        for estimator in ESTIMATORS
    ]


def made_records(metas):
    return [record for meta in metas for record in records.records_of(meta)]


def never():
    raise AssertionError("was timed although enough is recorded")


@pytest.fixture
def smoke(tmp_path, monkeypatch):
    """The plan of the smoke scale, in a folder without results."""
    monkeypatch.chdir(tmp_path)
    return planned_here("smoke")


@pytest.fixture
def known():
    """A model of known costs."""
    return costs.CostModel(COSTS, MEGABYTES, "made")


def test_fitted_costs_are_those_of_the_records():
    fitted = costs.fitted_model(made_records(varied_metas()), MACHINE, never)
    # Costs of single operations are determined as far as they matter; those of runs well.
    defaults_are_off = []
    for unseen in (run_settings(11, 71, 9000, 7, "pop_cd", {"k": 3}), run_settings(307, 211, 4000, 2, "cd", {"k": 5})):
        counted = training_work(unseen, 3001, 401)
        assert fitted.seconds_of(counted) == pytest.approx(seconds(counted), rel=0.05)
        defaults_are_off.append(seconds(counted, SECONDS) != pytest.approx(seconds(counted), rel=0.1))
    assert any(defaults_are_off)


def test_other_load_of_the_machine_does_not_change_records():
    idle, busy = (made_records(varied_metas(busy=factor)) for factor in (1.0, 3.0))
    for record, other in zip(idle, busy, strict=True):
        assert other.seconds == pytest.approx(record.seconds)


def test_fit_is_robust_against_a_few_outliers():
    metas = varied_metas()
    for meta in metas[::5]:
        for kind in ("training_seconds", "training_cpu_seconds", "evaluation_seconds"):
            meta["wall"][kind] *= 8
    fitted = costs.fitted_model(made_records(metas), MACHINE, never)
    counted = training_work(run_settings(307, 211, 4000, 2), 3001, 401)
    assert fitted.seconds_of(counted) == pytest.approx(seconds(counted), rel=0.3)


def test_jobs_without_products_or_processor_time_are_no_records():
    meta, untimed = run_meta(run_settings(), 1009, 17), run_meta(run_settings(), 1009, 17, busy=3.0)
    del meta["backend_products"]
    assert records.records_of(meta) == []
    del untimed["wall"]["training_cpu_seconds"]
    assert records.records_of(untimed) == []


def test_without_records_the_machine_is_timed():
    slow = {name: 4 * cost for name, cost in SECONDS.items()}
    timed = [replace(record, jitter=0.0) for record in made_records(varied_metas(slow))]
    fitted = costs.fitted_model([], MACHINE, lambda: timed)
    counted = training_work(run_settings(), 3001, 401)
    assert fitted.seconds_of(counted) == pytest.approx(seconds(counted, slow), rel=0.1)
    assert fitted.basis == "a short timing of this machine"
    # Records of another machine do not replace the timing; without one, they are better than nothing.
    others = made_records(varied_metas(cpu="Other"))
    assert costs.fitted_model(others, MACHINE, lambda: timed).seconds == fitted.seconds
    foreign = costs.fitted_model(others, MACHINE)
    assert foreign.seconds_of(counted) == pytest.approx(seconds(counted), rel=0.1)
    assert foreign.basis == "16 recorded jobs of other machines"
    assert costs.fitted_model([], MACHINE).basis == "no recorded jobs"


def test_short_timing_of_the_machine_is_near_the_default_costs():
    timings = records.calibration_records()
    ratios = [sum(record.seconds.values()) / seconds(record.work, SECONDS) for record in timings]
    # Defaults are those of a recent processor; none in use is 20 times as fast or slow.
    assert np.all(np.abs(np.log(ratios)) < math.log(20))
    assert {record.machine for record in timings} == {records.this_machine()}


def test_training_counts_are_proportional_to_iterations():
    few, many = (training_counts(iterations=iterations) for iterations in (1000, 3000))
    assert {name: 3 * count for name, count in few.items()} == dict(many)
    cd, pt = training_counts(), training_counts(estimator="parallel_tempering", options={"temperatures": 7})
    assert pt["tempered row"] == 20_000 * 3 * 50 * 7
    assert cd["thin product"] == 20_000 * 3 * 2 * 50 * 17 * 16 * 5
    assert pt["thin product"] == 20_000 * 3 * 2 * 50 * 17 * 16 * 3


def test_chains_and_proxies_are_counted():
    equal, more = (training_counts(options={"chains": chains}) for chains in (50, 107))
    assert equal == training_counts()
    assert more["thin product"] == 20_000 * 3 * 2 * 17 * 16 * (2 * 50 + 3 * 107)
    settings = run_settings(iterations=450, options={"chains": 107})
    as_large = run_settings(iterations=450, batch=107)
    assert training_work(settings, 1009, 17).memory == training_work(as_large, 1009, 17).memory
    proxy = settings.model_copy(update={"proxy": Proxy(chains=5, steps=3, rows=11)})
    plain, proxied = (training_work(each, 1009, 17).stages["evaluation"] for each in (settings, proxy))
    assert proxied["row"] == 3 * 6 * 11 * 5 * 3  # trials, evaluations, rows, chains, steps
    assert proxied["state"] == plain["state"]


def test_coupled_chains_have_an_assumed_stopping_time_and_no_record():
    ucd = {"estimator": "ucd", "options": {"k": 3}}
    plain, coupled = training_counts(), training_counts(**ucd)
    steps = 50 * (ASSUMED_STOPPING_TIME - 3)
    assert coupled["pair"] == 20_000 * 3 * steps
    assert coupled["thin product"] - plain["thin product"] == 20_000 * 3 * 2 * 17 * 16 * (2 * 2 * 50 + 3 * steps)
    assert "pair" not in plain
    assert records.records_of(run_meta(run_settings(**ucd), 1009, 17)) == []
    assert len(records.records_of(run_meta(run_settings(), 1009, 17))) == 1


def test_recorded_stopping_times_are_those_expected_of_other_runs():
    ucd, later = (run_settings(iterations=iterations, estimator="ucd") for iterations in (20_000, 50_000))
    (record,) = records.records_of(run_meta(ucd, 1009, 17) | {"stopping_time": 23.0})
    assert record.work == training_work(ucd, 1009, 17, 23.0)
    assert record.work.stages["training"]["pair"] == 20_000 * 3 * 50 * 22
    (other,) = records.records_of(run_meta(later, 1009, 17) | {"stopping_time": 5.0})
    times = records.stopping_times([record, other, *made_records(varied_metas())])
    assert times == {("made", 16): 14.0}
    planned = Plan("test", ("made",), data={"d": SimpleNamespace(rows=1009, visible=17, options={})})
    planned.add(Job("a", "train", run_settings(estimator="ucd"), "d"))
    for known, expected in ((times, 14), ({}, ASSUMED_STOPPING_TIME), ({("made", 17): 99.0}, 10)):
        pairs = jobs.jobs_of(planned, known)["a"].work.stages["training"]["pair"]
        assert pairs == 20_000 * 3 * 50 * (expected - 1)


@pytest.mark.parametrize(("stopping_time", "cost"), [(2.0, 7), (4.5, 22)])
def test_runs_with_a_budget_are_counted_to_its_end(stopping_time, cost):

    ucd = run_settings(iterations=20_000, estimator="ucd")
    limited = ucd.model_copy(update={"products": 1000.0 * 7 * cost, "evaluate_at_products": (10.0, 20.0, 40.0)})
    stages, unlimited = (training_work(settings, 1009, 17, stopping_time).stages for settings in (limited, ucd))
    assert stages["training"]["pair"] == pytest.approx(unlimited["training"]["pair"] * 7000 / 20_000)
    assert stages["training"]["parameter"] == pytest.approx(unlimited["training"]["parameter"] * 7000 / 20_000)
    assert stages["evaluation"]["evaluation"] == unlimited["evaluation"]["evaluation"] + 3 * 3  # trials
    large = ucd.model_copy(update={"products": 1e9})
    assert training_work(large, 1009, 17, stopping_time) == training_work(ucd, 1009, 17, stopping_time)


def test_processor_seconds_are_summed_over_threads():
    meta = run_meta(run_settings(), 1009, 17, busy=0.5) | {"threads": 2}
    (record,) = records.records_of(meta)
    assert record.seconds["training"] == pytest.approx(meta["wall"]["training_cpu_seconds"])
    assert record.seconds["evaluation"] == pytest.approx(2 * meta["wall"]["evaluation_seconds"])


def test_variances_of_gradients_are_counted():
    plain, more = (training_counts(options={"variance": variance}) for variance in (False, True))
    chains = 20_000 * 3 * 50
    assert more["thin product"] - plain["thin product"] == chains * 2 * 17 * 16 * 3
    assert more["unit"] - plain["unit"] == chains * 3 * (17 + 16)


def test_exchanges_of_trajectory_tempering_are_counted():
    pcd, tempered = ({"estimator": name, "options": {"k": 3}} for name in ("pcd", "trajectory_tempering"))
    plain, more = training_counts(**pcd), training_counts(**tempered)
    # Three products, two of them for exchanges, and a share of rounds of 2 k + 2.
    rows, products = 20_000 * 3 * 50, 3 + trajectory_tempering.ASSUMED_FILLING * (2 * 3 + 2)
    assert more["thin product"] - plain["thin product"] == pytest.approx(rows * 2 * 17 * 16 * products)
    assert more["unit"] - plain["unit"] == pytest.approx(rows * (17 + 16) * (2 + trajectory_tempering.ASSUMED_FILLING))
    assert records.records_of(run_meta(run_settings(**tempered), 1009, 17)) == []
    assert len(records.records_of(run_meta(run_settings(**pcd), 1009, 17))) == 1


def test_samples_and_coupled_chains_are_counted():
    gibbs = {"name": "gibbs", "grid": {"k": [1, 5]}}
    rates = {"name": "rates_fpcd", "grid": {"k": [1, 5], "fast_rate": [0.1, 0.2, 0.3]}}
    tempering = {"name": "parallel_tempering", "options": {"temperatures": 7}}
    values = {"samplers": {"gibbs": gibbs, "rates": rates, "pt": tempering}, "samples": 103, "points": 19}
    settings = parse(SamplingSettings, values | {"rows": 11}, "test")
    held_out = {"train": 1009, "validation": 47, "test": 5}
    work = measuring_work("sample", settings, 1009, 67, 13, 3, held_out).stages["measuring"]
    # Rates are a second matrix, and each of their samples changes the parameters. Settings of equal k share
    # their calls.
    changes = sample.ASSUMED_CHANGES * (1 + 5) * (1 + 2 * 3)
    assert work["chain product"] == pytest.approx(3 * 103 * 4 * 67 * 13 * changes)
    assert work["chain parameter"] == 3 * 103 * 67 * 13 * 2 * 3
    assert work["unit"] == 3 * 103 * (67 + 13) * (1 + 5) * (1 + 3)
    assert work["call"] == 2 + 2 + 1
    assert work["tempered row"] == 3 * 103 * 7
    assert work["counted distance"] == 3 * 103 * (2 + 6 + 1) * (11 + 5)
    # The best of 35 flips is searched by the validation rows; distances up to 67 are summed in three parts.
    assert work["likelihood term"] == 3 * 19 * (2 + 6 + 1) * (36 * 11 + 5) * 3
    chains = parse(CouplingSettings, {"visible": 17, "hidden": 13, "coupling": "rbm", "replications": 103}, "test")
    counts = of_name("couple").work(chains, Sizes(expected={"stopping_time": 7.0})).stages["measuring"]
    assert (counts["pair"], counts["pair unit"]) == (103 * 7, 103 * 7 * 30)
    assert of_name("couple").work(chains, Sizes()).stages["measuring"]["pair"] == 103 * ASSUMED_STOPPING_TIME


@pytest.mark.parametrize(("coupling", "width", "longest"), [("rbm", 0.5, 1009), ("general", 0.4, 2003)])
def test_meeting_steps_estimate_the_mean_stopping_time(coupling, width, longest):
    sizes = {"visible": 67, "hidden": 31, "width": width, "coupling": coupling}
    settings = parse(CouplingSettings, sizes | {"replications": 307, "longest": longest}, "test")
    mean = coupled_stopping_times(settings).mean()
    assert mean > 3
    assert mean / 1.7 < couple.meeting_steps(settings) < 1.7 * mean


def test_meeting_steps_extrapolate_beyond_the_longest_pilot(monkeypatch):
    values = {"visible": 7, "hidden": 5, "coupling": "rbm", "replications": 307, "longest": 2003}
    settings = parse(CouplingSettings, values, "test")
    for pilots, expected in (([1000] * 20, 2003), ([500] * 10 + [1000] * 10, 1500 * (1 - math.exp(-2003 / 1500)))):
        monkeypatch.setattr(couple.meeting_times, "coupled_stopping_times", lambda pilot, times=pilots: np.array(times))
        assert couple.meeting_steps(settings) == pytest.approx(expected)


def test_evaluation_counts_are_of_the_smaller_layer_or_of_snapshots():
    small = training_work(run_settings(hidden=11, iterations=450), 1009, 17).stages["evaluation"]
    assert small["state"] == 3 * 6 * 2**11  # iterations 0, 100, ..., 400 and 450
    large = training_work(run_settings(hidden=101, iterations=450), 1009, 107).stages["evaluation"]
    assert "state" not in large
    assert _costs.snapshots(run_settings(hidden=101, iterations=450), 107) == 6
    assert _costs.snapshots(run_settings(hidden=11, iterations=450), 107) == 0


def forecast_of(plan, model, cores):
    return jobs.forecast(plan, jobs.jobs_of(plan, model.met, pilot=True), model, cores).set_index("result")


def test_shared_runs_count_once(smoke, known):
    table = forecast_of(smoke, known, 2)
    smoke.figures["popcd_fig9"] = smoke.figures["popcd_fig1"]
    shared = forecast_of(smoke, known, 2)
    assert shared.loc["popcd_fig9", "processor_seconds"] == table.loc["popcd_fig1", "processor_seconds"] > 0
    assert shared.loc["total"].to_dict() == table.loc["total"].to_dict()
    assert table.loc["total", "jobs"] == len(smoke.jobs)
    assert table.loc["total", "processor_seconds"] <= 1.000001 * table["processor_seconds"].drop("total").sum()


def test_done_jobs_cost_nothing(smoke, known):
    def touch(folder, ids, *names):
        for file in (Path(smoke.layout.job(folder, each, name)) for each in ids for name in (*names, "meta.json")):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        return file

    touch("samples", smoke.of_kind("sample"), "isl.parquet", "shown.npz")
    touch("couplings", smoke.of_kind("couple"), "stopping_times.parquet")
    done = {name for name, job in jobs.jobs_of(smoke).items() if job.done}
    assert done == {*smoke.of_kind("sample"), *smoke.of_kind("couple")}
    before = forecast_of(smoke, known, 2)
    assert before.loc["ucd_fig5", "processor_seconds"] == 0 < before.loc["rates_fpcd_fig2", "processor_seconds"]
    file = touch("runs", ids_shown(smoke, smoke.figures["popcd_fig1"]), "curve.parquet", "model.npz")
    after = forecast_of(smoke, known, 2)
    assert tuple(after.loc["popcd_fig1", ["processor_seconds", "wall_seconds", "memory_mb"]]) == (0, 0, 0)
    assert after.loc["popcd_fig1", "done"] == after.loc["popcd_fig1", "jobs"] == 24
    left = before.loc["total", "processor_seconds"] - before.loc["popcd_fig1", "processor_seconds"]
    assert after.loc["total", "processor_seconds"] == pytest.approx(left)
    file.unlink()
    assert forecast_of(smoke, known, 2).loc["popcd_fig1", "done"] == 23


def test_annealed_evaluations_of_a_plan_are_counted(smoke, known):
    before = forecast_of(smoke, known, 1)
    run = ids_shown(smoke, smoke.figures["popcd_fig2"])[0]
    budget = AnnealingSettings(particles=512, temperatures=50_000)
    smoke.add(Job("an-ais", "evaluate", budget, smoke.jobs[run].data, run))
    figure = smoke.figures["popcd_fig2"]
    smoke.figures["popcd_fig2"] = replace(figure, jobs=(*figure.jobs, "an-ais"))
    after = forecast_of(smoke, known, 1)
    entry, settings = smoke.data[smoke.jobs[run].data], smoke.jobs[run].settings
    counts = of_name("evaluate").work(budget, sizes_of(settings, entry.rows, entry.visible)).stages
    # 512 chains of 50 000 steps of two products, for each trial and snapshot.
    snapshots = 1 + settings.iterations // settings.evaluate_every
    products = 2 * 2 * 512 * 50_000 * entry.visible * settings.hidden * settings.trials * snapshots
    assert counts["measuring"]["thin product"] == products
    tempered, compared = (AnnealingSettings(tempering=Tempering(products=7000), compared=number) for number in (0, 3))
    sizes = sizes_of(settings, entry.rows, entry.visible)
    more, less = (of_name("evaluate").work(each, sizes).stages["measuring"] for each in (compared, tempered))
    assert more["thin product"] - less["thin product"] == pytest.approx(products * 3 / snapshots)
    added = sum(total(COSTS, part) for part in counts.values())
    for key in ("popcd_fig2", "total"):
        difference = after.loc[key, "processor_seconds"] - before.loc[key, "processor_seconds"]
        assert difference == pytest.approx(added)


def test_makespan_is_bounded_by_cores_and_by_dependencies():
    run, estimate = (jobs.CountedJob(name, None, False, needs) for name, needs in (("run", ()), ("estimate", ("run",))))
    others = [jobs.CountedJob(str(number), None, False) for number in range(3)]
    seconds = {"run": 5.0, "estimate": 4.0, "0": 3.0, "1": 3.0, "2": 3.0}
    assert jobs.makespan([run, estimate, *others], seconds, 1) == 18
    assert jobs.makespan([run, estimate, *others], seconds, 2) == 9  # 5 + 4 and 3 + 3 + 3
    assert jobs.makespan([run, estimate, *others], seconds, 5) == 9
    assert jobs.makespan([], {}, 3) == 0
    assert jobs.makespan([run, estimate, *others], seconds, 10**20) == 9
    divided = jobs.CountedJob("run", None, False, (), {"0-3": 0.6, "3-2": 0.4})
    assert jobs.makespan([divided, estimate, *others], seconds, 5) == 7


def test_priorities_of_jobs_exceed_those_of_dependent_jobs(smoke):
    priorities = jobs.priorities(jobs.jobs_of(smoke))
    assert set(priorities) == set(smoke.jobs)
    assert 0 < min(priorities.values()) < max(priorities.values()) < 1
    pairs = [(name, needed) for name, job in smoke.jobs.items() for needed in smoke.before(job)]
    assert pairs
    assert all(priorities[name] < priorities[needed] for name, needed in pairs)


def measured_meta(kind, values):
    meta = run_meta(run_settings(), 1009, 17) | {"settings": values.model_dump(mode="json"), "hidden": 16}
    stages = measuring_work(kind, values, 1009, 17, 16, 3).stages
    measuring = total(COSTS, stages["measuring"])
    wall = {"measuring_seconds": measuring, "measuring_cpu_seconds": measuring, "total_seconds": measuring + 2.5}
    return meta | {"wall": wall}


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("ground_truth", GroundTruthSettings(method="exact")),
        ("ground_truth", GroundTruthSettings(method="parallel_tempering", chains=11, burn_in=13, samples=170)),
        ("estimate", parse(EstimateSettings, {"estimator": {"name": "cd"}, "batch": 31}, "test")),
        ("sample", parse(SamplingSettings, {"samplers": {"gibbs": {"name": "gibbs"}}}, "test")),
    ],
)
def test_measurements_are_records(kind, values):
    (record,) = records.records_of(measured_meta(kind, values))
    assert record.seconds["startup"] == pytest.approx(2.5)
    assert total(COSTS, record.work.stages["measuring"]) == pytest.approx(record.seconds["measuring"])


def test_an_annealed_run_gives_two_records():
    meta = run_meta(run_settings(hidden=101), 1009, 107)
    own = {"settings": {"particles": 5, "temperatures": 70}, "hardware": {"cpu": "Slow"}, "peak_memory_mb": 300}
    meta |= {"evaluation": meta | own, "wall": meta["wall"] | {"annealing_seconds": 12.5, "annealing_cpu_seconds": 5.0}}
    run, annealing = records.records_of(meta)
    assert (run.machine, annealing.machine) == (MACHINE, "Slow, numba kernels")
    assert annealing.seconds == {"measuring": 5.0}
    assert set(run.seconds) == {"startup", "training", "evaluation"}


def test_damaged_metas_are_skipped_and_named(tmp_path):
    good, negative = run_meta(run_settings(), 1009, 17), run_meta(run_settings(trials=5), 1009, 17)
    negative["wall"]["evaluation_seconds"] = -1.0
    lacking = good | {"settings": {"method": "exact"}, "hidden": 16}
    del lacking["trials"]
    texts = {"good": json.dumps(good), "cut": json.dumps(good)[:50], "a_list": "[]"}
    for name, text in (texts | {"lacking": json.dumps(lacking), "negative": json.dumps(negative)}).items():
        (tmp_path / "tiny" / "runs" / name).mkdir(parents=True)
        (tmp_path / "tiny" / "runs" / name / "meta.json").write_text(text)
    # The same run once more, in kept results.
    write_json(tmp_path / "reference" / "tiny" / "meta" / "popcd_fig1.json", {"a_run": good, "odd": 3})
    timings, notes = records.read_records([tmp_path])
    assert [record.name for record in timings] == [f"{good['run']} training"]
    assert all(len(note.splitlines()) == 1 for note in notes)
    for name, reason in {
        "cut/meta.json": "damaged or cut short",
        "a_list/meta.json": "must be a mapping, got a list",
        "lacking/meta.json": "'trials' is missing",
        "negative/meta.json": "must be above 0",
        "popcd_fig1.json: odd": "skipped",
    }.items():
        assert any(name in note and reason in note for note in notes), name
    assert len(notes) == 5


@pytest.mark.slow
def test_forecasts_of_recorded_jobs_have_the_documented_error(repository):
    timings, notes = records.read_records([repository / "results" / "reference"])
    assert notes == []
    assert len(timings) >= 60
    machine = timings[0].machine
    # As docs/reproducing.md: one half of the jobs of a processor second or more, from the other half.
    errors = []
    for half in (0, 1):
        fitted = costs.fitted_model(timings[half::2], machine, list)
        for record in timings[1 - half :: 2]:
            took = sum(record.seconds.values())
            if took >= 1:
                expected = sum(total(fitted.seconds, record.work.stages[stage]) for stage in record.seconds)
                errors.append(abs(math.log(expected / took)))
    median, most = np.exp(np.quantile(errors, (0.5, 0.9)))
    assert 1 < median < 1.2
    assert median < most < 1.6
    fitted = costs.fitted_model(timings, machine, list)
    # Memory of many records begins with the peak of the Snakemake that started the job (several jobs
    # have the same 675.4 MB): they are upper bounds.
    ratios = [fitted.megabytes_of(record.work) / record.megabytes for record in timings]
    assert np.median(np.exp(np.abs(np.log(ratios)))) < 1.15
    assert max(ratios) < 2


def forecast(repository, *arguments):
    config = repository / "config"
    common = ["forecast", "--config", config / "config.yaml", "--configfile", config / "smoke.yaml"]
    return cli.main([str(part) for part in [*common, *arguments]])


def test_command_prints_and_writes_the_forecast(repository, smoke, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(records, "this_machine", lambda: MACHINE)
    for name, meta in {"odd": {}, **dict(enumerate(varied_metas()))}.items():
        write_json(tmp_path / "results" / "old" / "runs" / str(name) / "meta.json", meta)
    assert forecast(repository, "--cores", 3, "--out", tmp_path / "forecast.csv") == 0
    printed = capsys.readouterr()
    heading, fitted = "smoke scale, jobs to compute:", "Fitted to 16 recorded jobs of this machine."
    for words in (heading, "0 of 24", "on 3 cores", fitted):
        assert words in printed.out
    assert "odd/meta.json: skipped (key 'settings' is missing)" in printed.err
    header, *lines = (tmp_path / "forecast.csv").read_text().splitlines()
    assert header == ",".join(COLUMNS)
    assert [line.split(",")[0] for line in lines] == [*smoke.figures, *smoke.tables, "total"]


def test_command_forecasts_only_the_targets(repository, smoke, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(couple, "meeting_steps", never)  # used only for couplings of ucd_fig5
    monkeypatch.setattr(records, "calibration_records", list)
    options = "--results", tmp_path, "--out", tmp_path / "forecast.csv", "--target"
    assert forecast(repository, *options, "paper_cd_bias_bound", "popcd_table1") == 0
    results = [line.split(",")[0] for line in (tmp_path / "forecast.csv").read_text().splitlines()]
    figures = [f"cd_bias_bound_{name}" for name in ("fig1", "fig1_100_trials", "fig2", "fig3")]
    assert results == ["result", *figures, "popcd_table1", "total"]
    line = refused(capsys, forecast(repository, *options, "popcd_tabel1"))
    assert line.startswith("unknown target 'popcd_tabel1'; nearest: 'popcd_table1'; allowed: all, all_figures,")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--results", "gone"), "gone: must be a folder of results"),
        (("--values", "{"), "--values: is not JSON"),
        (("--values", "[]"), "--values: must be a mapping of keys, got a list"),
        (("--configfile", "gone.yaml"), "gone.yaml"),
    ],
)
def test_invalid_arguments_raise_a_one_line_error(repository, smoke, capsys, arguments, message):
    assert message in refused(capsys, forecast(repository, *arguments))
