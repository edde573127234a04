# SPDX-License-Identifier: BSD-3-Clause
"""
Likelihoods, gradients and their bias
=====================================

A model with 16 hidden units, small enough to compare every estimate with the exact number.
"""

import numpy as np

import rbmbench
from rbmbench import likelihood, samplers

data = rbmbench.datasets.load("bars_and_stripes").train
result = rbmbench.train(data, hidden=16, estimator="pcd", rate=0.1, batch=32, iterations=2000, trials=2)
rbm = result.rbm
exact = likelihood.exact_log_partition(rbm)
print("log Z:", exact.round(3), "log-likelihood:", likelihood.log_likelihood(rbm, data, exact).round(3))

# %%
# Partition function
# ------------------
#
# Annealing from the base rates of the data, annealing back from exact samples, and tempered chains
# from two starts. The first tends to end below log Z, the second above; both standard errors are in
# nats.

base = likelihood.base_rate_bias(data)
forward = likelihood.ais_log_partition(rbm, particles=100, temperatures=1000, base=base)
rows = samplers.exact_samples(rbm, 100, rbmbench.Stream(seed=1, trials=range(2)))
reverse = likelihood.reverse_ais_log_partition(rbm, rows, temperatures=1000, base=base)
tempered = likelihood.tempered_log_partition(rbm, data, target_error=0.05)
for name, estimate in {"forward": forward, "reverse": reverse, "tempered": tempered}.items():
    print(
        f"{name:>8}: off by",
        (estimate.log_partition - exact).round(3),
        "standard error",
        estimate.standard_error.round(3),
    )

# %%
# Gradient
# --------
#
# `rbmbench.exact_gradient` is the difference of two expectations. CD-1 replaces that of the model
# by the mean over rows after one Gibbs step. `rbmbench.samplers.distribution_after` computes the
# law of these rows; its distance from the model is the source of the bias.

gradient = rbmbench.exact_gradient(rbm, data)
print("largest component of the exact gradient:", np.abs(gradient.W).max(axis=(-2, -1)).round(4))

from rbmbench.base.settings import Choice, EstimateSettings, GroundTruthSettings
from rbmbench.measurements.gradient_bias import ground_truth, measure

truth = {"exact": ground_truth(rbm, data, GroundTruthSettings(method="exact"))}
for name, k in (("cd", 1), ("cd", 10), ("pop_cd", 1)):
    settings = EstimateSettings(estimator=Choice(name=name, options={"k": k}), batch=32, estimates=2000)
    table = measure(rbm, data, settings, truth).query("quantity in ['bias_debiased', 'variance']")
    print(f"{name:>6}, k = {k:2}:", table.groupby("quantity")["value"].mean().map("{:.2e}".format).to_dict())

# %%
# Chains
# ------
#
# Two coupled chains, of which one is a step ahead, meet after a number of steps. Their mean is
# small for a model in which Gibbs sampling forgets its start soon.

start = np.stack([data[:30]] * 2)  # replicas, chains, visible units
times = samplers.stopping_times(rbm, start, "rbm", 1000, rbmbench.Stream(seed=2, trials=range(2)))
print("mean number of steps until two chains meet:", times.mean(axis=-1).round(2))
