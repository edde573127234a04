# SPDX-License-Identifier: BSD-3-Clause
"""
Add an estimator
================

A gradient estimator is one class in one file. This one is mean-field contrastive divergence, in
``mean_field_cd.py``. The name of the file is the name of the estimator.

.. literalinclude:: /docs/examples/mean_field_cd.py

``negative_phase`` returns the rows that estimate the model expectation, the state for the next
call, and diagnostics. Arrays have a leading axis of replicas, one per trial.

The package finds files in ``src/rbmbench/estimators/`` by their names. A file elsewhere is a
plug-in:
"""

import rbmbench

rbmbench.load_plugins("mean_field_cd.py")

# %%
# Training it beside CD and pop-CD on bars and stripes, with the same seed: all three start from the
# same parameters and see the same mini-batches. The table shows the mean log-likelihood over five
# trials, in nats per sample.

import pandas as pd

data = rbmbench.datasets.load("bars_and_stripes").train
curves = {}
for name in ("cd", "mean_field_cd", "pop_cd"):
    result = rbmbench.train(data, hidden=16, estimator=name, rate=0.1, batch=32, iterations=2000, trials=5)
    curve = result.curve.query("metric == 'log_likelihood'")
    curves[name] = curve.groupby("iteration")["value"].mean()
print(pd.DataFrame(curves).iloc[::4].round(2))

# %%

import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, curve in curves.items():
    axes.plot(curve.index, curve, label=name)
axes.set(xlabel="iteration", ylabel="log-likelihood per sample (nats)", title="Bars and stripes, 16 hidden units")
axes.legend()
plt.show()

# %%
# Options are the keyword arguments of ``__init__``. They are checked before anything is computed:

from rbmbench.base.errors import SettingsError

try:
    rbmbench.estimators.create("mean_field_cd", k=0)
except SettingsError as error:
    print(error)

# %%
# :doc:`/docs/extending` lists the requirements on an estimator, and shows how one gets into the
# published figures.
