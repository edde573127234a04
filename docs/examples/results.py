# SPDX-License-Identifier: BSD-3-Clause
"""
Read results
============

Results are plain files: CSV and Parquet tables, npz arrays and JSON. This program reads the kept
results of the repository; the folders of your own runs, ``results/SCALE``, have the same form,
described in :doc:`/results/README`.

Verdicts
--------

``claims.csv`` has one row per claim. How many are reproduced at the published settings, by paper:
"""

from pathlib import Path

import pandas as pd

paper_scale = Path("../../results/reference/paper")
claims = pd.read_csv(paper_scale / "claims.csv")
print(claims.groupby(["paper", "verdict"]).size().unstack(fill_value=0))

# %%
# Each verdict compares a measured number and its 95 % interval with an accepted range:

chosen = claims.query("paper == 'cd_bias_bound' and verdict == 'not reproduced'")
for row in chosen.itertuples():
    print(f"{row.claim}: {row.text}\n  measured {row.measured:.3g} ({row.low:.3g} to {row.high:.3g})")

# %%
# Learning curves
# ---------------
#
# ``runs/RUN/curve.parquet`` is a tidy table with the columns trial, iteration, metric and value.
# ``meta.json`` beside it holds the settings of the run, its times and its machine.

import json

runs = {}
for path in sorted(paper_scale.glob("runs/mnist-16h-*-0.1-*")):
    settings = json.loads((path / "meta.json").read_text())["settings"]
    stage = settings["schedule"][0]
    label = f"{stage['estimator']['name']} {stage['estimator']['options']}"
    runs[label] = pd.read_parquet(path / "curve.parquet").query("metric == 'log_likelihood'")
curves = pd.concat(runs, names=["algorithm"])
final = curves[curves["iteration"] == curves["iteration"].max()]
print(final.groupby("algorithm")["value"].agg(["count", "mean", "std"]).round(2))

# %%
# These are final log-likelihoods on MNIST, in nats per sample, over 25 trials.

import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
for label, curve in runs.items():
    mean = curve.groupby("iteration")["value"].mean()
    axes.plot(mean.index, mean, label=label)
axes.set(xlabel="iteration", ylabel="log-likelihood per sample (nats)", ylim=(-210, None))
axes.legend()
plt.show()

# %%
# Numbers behind a figure
# -----------------------
#
# ``data/KEY_figN.csv.gz`` holds the numbers of a figure, mean and band of every curve at every
# evaluation:

numbers = pd.read_csv(paper_scale / "data" / "popcd_fig1.csv.gz")
ends = numbers.groupby("panel")["iteration"].transform("max")
last = numbers[numbers["iteration"] == ends]
print(last.pivot(index="label", columns="panel", values="mean").round(2))
