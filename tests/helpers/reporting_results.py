# SPDX-License-Identifier: BSD-3-Clause
"""Small folders of results, as runs and measurements write them, for tests of reports."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

DIFFERENCE = {"id": "popcd_1.a", "where": "Figure 1a", "text": "pop-CD-1 ends above CD-1", "published": "higher"}
DIFFERENCE |= {"kind": "final_difference", "curve": "fig1.a.pop_cd_1", "against": "fig1.a.cd_1", "above": 0.0}
CLAIM = dict.fromkeys(("claim", "paper", "where", "text", "published", "fails", "verdict", "note", "what"), "")
CLAIM |= dict.fromkeys(("measured", "low", "high", "above", "below")) | {"standing": "published"}
OF_CD = {"row": "r", "algorithm": "cd_1", "variance": 1e-4, "bias": 0.02}
OF_POP_CD = {"row": "r", "algorithm": "pop_cd_1", "variance": 3.7e-4, "bias": 8e-9}
PRINTED = {"estimates": 50000, "entries": [OF_CD, OF_POP_CD]}
ALGORITHMS = {"cd_1": "CD-1", "pop_cd_1": "pop-CD-1", "pt_10": "PT-10"}
DATA = {"name": "toy", "title": "Toy & Bars", "rows": {"train": 13, "validation": 0, "test": 0}, "visible": 5}
DATA |= {"source": "made by rule", "preprocessing": "none", "files": [], "stand_in_for": None}
INITIAL = {"kind": "uniform", "width": 0.1}
META = {"settings": {"batch": 7, "seed": 11, "precision": "float32", "initial": INITIAL}, "data": DATA, "threads": 1}
META |= {"wall": {"training_seconds": 2.0, "evaluation_seconds": 1.0, "total_seconds": 3.5}, "backend": "numpy"}
META |= {"hardware": {"cpu": "a processor", "cores": 2, "memory_gb": 4.0, "gpu": None}, "commit": "0123456789abcdef"}
META |= {"versions": {"rbmbench": "0.1.0", "numpy": "2.0"}, "seed": 11, "peak_memory_mb": 123.0}
NOT_IN_SPEC = ("curves", "meta", "effective_particles", "diagnostics", "published", "without")
ANNEALING = {"particles": 100, "temperatures": 50}


def drawn(spec, *sheet):
    """Return the picture of a figure, drawn from its chart."""
    from rbmbench.reporting import charts
    from rbmbench.reporting.drawing import draw_chart

    return draw_chart(charts.chart_of(spec, spec.read()), *sheet)


def evidence(folder, curves, band=None, **more):
    """Return the evidence of claims on a figure of one panel, with further values of the panel."""
    from rbmbench.planning.specs import parse_spec
    from rbmbench.reporting.claims.evidence import Evidence

    spec = figure(folder, {"a": {"curves": curves, **more}}, **({"band": band} if band else {}))
    return Evidence("popcd", [parse_spec(spec, "test")])


def cells_of(part):
    """Return the cells of a part of a table as a frame, with two levels of columns if there are groups."""
    columns = list(part.columns)
    if part.groups:
        pairs = zip(part.groups, columns, strict=True)
        columns = pd.MultiIndex.from_tuples([(group, name.removeprefix(group).lstrip()) for group, name in pairs])
    return pd.DataFrame(list(part.lines), columns=columns)


def make_run(folder: Path, values, *, iterations=None, meta=None, effective_particles=None, diagnostics=None) -> str:
    """Write a run whose log-likelihoods are ``values`` (trials, evaluations); return its folder.

    With ``effective_particles``, log Z of the run is annealed, with a standard error of 0.25 nats; these are a
    number, or a mapping of further metrics to values (trials, evaluations). Diagnostics are further metrics, {name:
    values (trials, evaluations)}, without the first evaluation.
    """
    values = np.asarray(values, dtype=float)
    iterations = list(iterations or range(0, 100 * values.shape[1], 100))
    trials = np.repeat(np.arange(len(values)), values.shape[1])
    curve = pd.DataFrame({"trial": trials, "iteration": iterations * len(values), "metric": "log_likelihood"})
    curve["value"] = values.ravel()
    partition = curve.assign(metric="log_partition", value=3.0)
    if not isinstance(effective_particles, dict):
        effective_particles = {"annealing_effective_sample_size": effective_particles} if effective_particles else {}
    annealed = {"log_partition_error": 0.25} | effective_particles if effective_particles else {}
    annealed = {metric: np.broadcast_to(value, values.shape).ravel() for metric, value in annealed.items()}
    more = [curve.assign(metric=metric, value=value) for metric, value in annealed.items()]
    for metric, numbers_of_metric in (diagnostics or {}).items():
        tidy = curve.assign(metric=metric, value=np.asarray(numbers_of_metric, dtype=float).ravel())
        more.append(tidy[tidy["iteration"] > 0])
    folder.mkdir(parents=True)
    pd.concat([curve, partition, *more]).to_parquet(folder / "curve.parquet", index=False)
    written = {"run": folder.name, "iterations": iterations[-1], "trials": len(values)} | META | (meta or {})
    (folder / "meta.json").write_text(json.dumps(written))
    return str(folder)


def stand_in(run_of: str) -> dict:
    """Return the meta of a run on stand-in data."""
    title = f"Digits 8x8 (stand-in for {run_of})"
    return {"data": DATA | {"name": "digits", "title": title, "stand_in_for": run_of}}


def rising(final: float, trials: int = 5, evaluations: int = 41, start: float = -20.0) -> np.ndarray:
    """Return curves (trials, evaluations) from ``start`` to ``final``, with trials spread evenly within 0.02."""
    mean = final + (start - final) * np.exp(-np.linspace(0, 12, evaluations))
    return mean + np.linspace(-0.02, 0.02, trials)[:, None]


def falling(final: float, top: float, trials: int = 5, evaluations: int = 41) -> np.ndarray:
    """Return curves that rise to ``top`` and fall to ``final``."""
    half = evaluations // 2
    fall = np.linspace(top, final, evaluations - half)[None]
    return np.concatenate([rising(top, trials, half), np.repeat(fall, trials, axis=0)], axis=1)


def differences(settings: dict, published: dict, panel: str = "") -> list[dict]:
    """Return the differences of settings from published ones, as specs hold them."""
    return [
        {"panel": panel, "setting": name, "value": settings[name], "published": value}
        | {"kind": "setting" if name in ("hidden", "rate") else "budget"}
        for name, value in published.items()
        if settings[name] != value
    ]


def figure(root: Path, panels: dict[str, dict], key: str = "popcd_fig1", **more) -> dict:
    """Write the runs of a figure and return its spec; a panel has ``curves``, {algorithm: values}, and other keys.

    ``published`` settings, and labels of curves that the panel is ``without``, become differences.
    """
    spec = {"key": key, "paper": "popcd", "title": "Curves", "kind": "learning_curves", "scale": "tiny", "panels": []}
    spec["differences"] = []
    for name, panel in panels.items():
        curves, meta, particles = panel["curves"], panel.get("meta"), panel.get("effective_particles")
        diagnostics = panel.get("diagnostics", {})
        annealing = {"annealing": ANNEALING} if particles else {}
        runs = [
            {
                "algorithm": algorithm,
                "label": ALGORITHMS.get(algorithm, algorithm),
                "folder": make_run(
                    root / "runs" / f"{key}-{name}-{algorithm}",
                    values,
                    meta=meta,
                    effective_particles=particles.get(algorithm) if isinstance(particles, dict) else particles,
                    diagnostics=diagnostics.get(algorithm),
                ),
            }
            for algorithm, values in curves.items()
        ]
        first = np.asarray(next(iter(curves.values())))
        settings = {"name": name, "data": "toy", "hidden": 3, "rate": 0.1, "iterations": 100 * (first.shape[1] - 1)}
        settings |= {"trials": len(first)} | annealing
        settings |= {key: value for key, value in panel.items() if key not in NOT_IN_SPEC}
        annealed = {f"annealing.{what}": number for what, number in ANNEALING.items()}
        spec["differences"] += differences(settings | annealed, panel.get("published", {}), name)
        spec["differences"] += [
            {"panel": name, "algorithm": label, "label": label, "setting": "algorithm", "published": label}
            | {"kind": "budget"}
            for label in panel.get("without", ())
        ]
        spec["panels"].append(settings | {"runs": runs})
    return spec | more


def estimates(folder: Path, models: list[dict], estimates: int = 2000) -> str:
    """Write measurements, a mapping {(ground truth, quantity): value} per model, and return their folder."""
    lines = [(index, *key, float(value)) for index, model in enumerate(models) for key, value in model.items()]
    folder.mkdir(parents=True)
    columns = ["trial", "ground_truth", "quantity", "value"]
    pd.DataFrame(lines, columns=columns).to_parquet(folder / "bias.parquet", index=False)
    (folder / "meta.json").write_text(json.dumps({"settings": {"estimates": estimates}}))
    return str(folder)


def numbers(variance: float, bias: float, width: float, truth: str = "exact") -> dict:
    """Return measurements of one model: a debiased bias with an interval of ``width`` to either side."""
    values = {"variance": variance, "variance_negative_phase": 3 * variance, "seconds_per_estimate": 1e-4}
    values |= {"bias": bias + 1e-6, "bias_floor": 1e-6, "bias_debiased": bias}
    values |= {"bias_low": bias - width, "bias_high": bias + width}
    return {(truth, quantity): value for quantity, value in values.items()}


def table(root: Path, rows: dict[str, dict], key: str = "popcd_table1", published=None, **model) -> dict:
    """Write the measurements of a table and return its spec; a row is {estimator: list of models}."""
    spec = {"key": key, "paper": "popcd", "title": "Bias", "kind": "bias_variance", "scale": "tiny", "rows": []}
    for name, row in rows.items():
        run = make_run(root / "runs" / f"{key}-{name}", rising(-5.0), **model)
        parts = [
            {
                "algorithm": algorithm,
                "label": ALGORITHMS.get(algorithm, algorithm),
                "k": 1,
                "folder": estimates(root / "gradients" / f"{name}-{algorithm}", models),
            }
            for algorithm, models in row.items()
        ]
        line = {"name": name, "data": "toy", "hidden": 3, "rate": 0.1, "model": run, "estimates": parts}
        spec["rows"].append(line)
    return spec | ({"published": published} if published else {})
