# SPDX-License-Identifier: BSD-3-Clause
"""Small folders of samples, as the subcommand writes them, for tests of reports."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from reporting_results import differences

LABELS = {"gibbs": "Gibbs", "rates_fpcd": "rates-FPCD"}
GRIDS = {"gibbs": [{"k": 1}, {"k": 5}], "rates_fpcd": [{"fast_rate": 0.01, "k": 1}, {"fast_rate": 0.1, "k": 1}]}
NUMBERS = [1, 10, 100, 1000]


def sample_folder(folder: Path, values: dict, *, training_set=-20.0, better=1, seconds=None, data=None, units=9) -> str:
    """Write streams of samples and return their folder.

    ``values`` are test likelihoods (trials, numbers of samples) by sampler of the setting ``better``, which
    leads by one nat on the validation rows; the other setting's test likelihood is higher by 5.
    """
    lines = [("training_set", 0, -1, 13, training_set + 0.5, training_set, 0.1)]
    for sampler, tests in values.items():
        for setting in range(2):
            for trial, row in enumerate(np.asarray(tests, dtype=float)):
                for number, test in zip(NUMBERS, row, strict=True):
                    validation = test + 1 if setting == better else test
                    lines.append((sampler, setting, trial, number, validation, test + 5 * (setting != better), 0.1))
    columns = ["sampler", "setting", "trial", "samples", "validation", "test", "flip"]
    folder.mkdir(parents=True)
    pd.DataFrame(lines, columns=columns).to_parquet(folder / "isl.parquet", index=False)
    shown = {f"{s}-{i}": np.full((12, units), 100 * i + 50, np.uint8) for s in values for i in range(2)}
    np.savez(folder / "shown.npz", **shown)
    meta = {"settings": {"samplers": {}}, "grids": {name: GRIDS[name] for name in values}, "run": "toy-3h-cd_1"}
    meta["data"] = data or {"title": "Toy", "rows": {"train": 13}, "stand_in_for": None}
    meta["seconds_per_sample"] = seconds or {name: [2e-5, 1e-4] for name in values}
    (folder / "meta.json").write_text(json.dumps(meta))
    return str(folder)


def isl_figure(root: Path, panels: dict[str, dict], key: str = "rates_fpcd_fig2", **more) -> dict:
    """Write the samples of a figure and return its spec; a panel has ``values`` and arguments of `sample_folder`."""
    spec = {"key": key, "paper": "rates_fpcd", "title": "Cover", "kind": "isl_curves", "scale": "tiny", "panels": []}
    for name, panel in panels.items():
        folder = sample_folder(root / "samples" / f"{key}-{name}", **panel)
        trials = len(next(iter(panel["values"].values())))
        settings = {"name": name, "data": "toy", "hidden": 3, "rate": 0.1, "iterations": 100, "trials": trials}
        settings |= {"samples_count": NUMBERS[-1], "samples": {"folder": folder}}
        settings["samplers"] = [{"sampler": sampler, "label": LABELS[sampler]} for sampler in panel["values"]]
        settings["runs"] = [{"algorithm": "cd_1", "label": "CD-1", "folder": str(root / "runs" / "toy-3h-cd_1")}]
        spec["panels"].append(settings)
        spec.setdefault("differences", []).extend(differences({"samples": NUMBERS[-1]}, {"samples": 2000}, name))
    return spec | more
