# SPDX-License-Identifier: BSD-3-Clause
"""
Train on your own data
======================

`rbmbench.train` takes a two-dimensional array of zeros and ones, one row per sample.

The data here have 12 units: four random bits, their complement and a copy, with 5 % of all entries
flipped.
"""

import numpy as np

import rbmbench

rng = np.random.default_rng(0)
bits = rng.integers(0, 2, size=(200, 4))
data = np.hstack([bits, 1 - bits, bits])
data ^= rng.random(data.shape) < 0.05

# %%
# Five models are trained at once, one per trial. Each starts from its own random parameters and
# sees the mini-batches in its own order.

result = rbmbench.train(
    data,
    hidden=8,
    estimator="pcd",
    options={"k": 1},
    rate=0.1,
    batch=20,
    iterations=3000,
    trials=5,
    evaluate_every=100,
)
print(result.curve.query("iteration == 3000 and trial < 2").to_string(index=False))

# %%
# ``result.curve`` is a tidy data frame with one row per trial, iteration and metric. The
# log-likelihood is exact, since the model has a layer of at most 25 units; it is the mean over the
# rows, in nats.

import matplotlib.pyplot as plt

likelihood = result.curve.query("metric == 'log_likelihood'")
curve = likelihood.groupby("iteration")["value"].agg(["mean", "min", "max"])
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(curve.index, curve["mean"])
axes.fill_between(curve.index, curve["min"], curve["max"], alpha=0.3)
axes.set(xlabel="iteration", ylabel="log-likelihood per sample (nats)")
axes.set_title("Mean and range of 5 trials")
plt.show()

# %%
# ``result.rbm`` holds the trained parameters, with one leading axis of trials. All functions of the
# library accept it:

log_z = rbmbench.likelihood.exact_log_partition(result.rbm)
print(result.rbm.W.shape, log_z.round(2))
print(rbmbench.likelihood.log_likelihood(result.rbm, data, log_z).round(3))

# %%
# Samplers draw streams of samples from trained models. Rates-FPCD changes the parameters after
# every sample, which drives its chain away from its last samples:

rows = data.astype(np.uint8)
sampler = rbmbench.samplers.create("rates_fpcd", fast_rate=0.01)
stream = rbmbench.Stream(seed=0, trials=range(5))
state = sampler.start(result.rbm, rows, chains=1, stream=stream)
samples = np.empty((5, 1, 1000, 12), np.uint8)  # models, chains, samples, visible units
sampler.draw(result.rbm, state, stream, samples)
print(samples[0, 0, :5])

# %%
# The indirect sampling likelihood measures how well samples cover a set of rows, in nats per row,
# one value per model:

covered = rbmbench.likelihood.IndirectSampling(rows, replicas=5)
covered.add(samples[:, 0])
print(covered.log_likelihood(covered.best_flips()[:, None]).round(3))

# %%
# :doc:`fit` shows pictures, files and scikit-learn. The command line trains on a file::
#
#     rbmbench train --data FILE --hidden 8 --iterations 3000 --estimator pcd --batch 20 --out FOLDER
#
# In figures of the workflow, the data set ``user_file`` reads a file of your own: see
# :doc:`/docs/data`.
