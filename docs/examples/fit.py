# SPDX-License-Identifier: BSD-3-Clause
"""
After training
==============

Pictures, samples, files and scikit-learn. :doc:`/docs/fit` does the same from the command line.
"""

import rbmbench

result = rbmbench.train(
    "digits",
    hidden=64,
    estimator="pcd",
    options={"k": 5},
    update={"name": "weight_decay", "options": {"decay": 0.001}},
    rate=0.05,
    batch=100,
    iterations=3000,
    evaluate_every=300,
)
print(result)

# %%
# A data set is passed by its name, as a ``Dataset``, or as an array of zeros and ones. Both layers
# have more than 25 units here, and training does not evaluate the log-likelihood. Annealing
# estimates it afterwards, for the snapshots of the run:

data = rbmbench.datasets.load("digits").train
result = result.annealed(data, particles=100, temperatures=1000)
print(result.curve.query("metric in ['log_likelihood', 'log_partition_error']").to_string(index=False))

# %%
# Pictures
# --------
#
# ``result.plot()`` draws the curve of a metric, ``result.plot_filters()`` the weights and
# ``result.plot_samples()`` samples of a model. As in seaborn, they draw on ``ax``, or else on the
# current axes, and return the axes.

import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
result.plot(ax=axes[0])
result.plot_filters(ax=axes[1])
result.plot_samples(count=64, seed=1, ax=axes[2])
plt.show()

# %%
# Data sets of images define the shape of a row. For an array, ``plot_filters(shape=(8, 8))`` sets
# it; without a shape the weights are drawn as a matrix. The functions behind these methods,
# `rbmbench.plot_curve`, `rbmbench.plot_filters` and `rbmbench.plot_samples`, take curves, models
# and states from anywhere.
#
# Samples
# -------
#
# ``rbm.sample(count, seed)`` returns states, 0 and 1, with the leading axes of the parameters. Each
# sample is the end of a set of ten tempered chains that starts from uniform states and takes 100
# sweeps: samples are independent, and nearly those of the model if the chains at the lower inverse
# temperatures mix in that time.

samples = result.rbm.sample(200, seed=1)
print(samples.shape, samples.dtype)
print("units that are on:", data.mean().round(3), "in the data,", samples.mean().round(3), "in the samples")

# %%
# :doc:`train` shows streams of samples from other samplers; `rbmbench.samplers.exact_samples` draws
# exactly from models with a layer of at most 25 units.
#
# ``clamp`` fixes units at 0 or 1 and draws the others conditionally, such as the missing values of
# a row:

import numpy as np

row = data[0].astype(float)
row[32:] = np.nan  # the lower half of an image is missing
completed = result.rbm[0].sample(100, seed=1, clamp=row)
print("share that is on:", completed[:, 32:].mean().round(3), "completed,", data[0, 32:].mean().round(3), "in the row")

# %%
# Files
# -----
#
# ``rbm.save`` writes W, b and c to an ``.npz`` file, ``RBM.load`` reads it, and ``model.npz`` of a
# run as well. `rbmbench.load_run` reads the folder of a run that the workflow, ``rbmbench train``
# or ``rbmbench fit`` has written.

import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    result.rbm.save(Path(folder, "digits.npz"))
    print(rbmbench.RBM.load(Path(folder, "digits.npz")))

# %%
# scikit-learn
# ------------
#
# `rbmbench.RBMTransformer` is a transformer for pipelines and grid searches; :doc:`/docs/choosing`
# gives starting values. ``score_samples`` returns log p(v), exact where a layer has at most 25
# units and annealed otherwise (``log_partition_error_`` is the standard error);
# ``pseudo_likelihood`` needs no log Z. Values other than 0 and 1 need a ``threshold``.
# ``early_stopping=True`` holds out a tenth of the rows; ``warm_start`` and ``partial_fit`` continue
# from the fitted model, as ``rbmbench.train(..., initial=rbm)`` does.

from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

images, labels = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(images, labels, random_state=0)
features = rbmbench.RBMTransformer(100, learning_rate=0.1, batch_size=50, n_iter=20, threshold=7, random_state=0)
classifier = make_pipeline(features, LinearDiscriminantAnalysis()).fit(X, y)
print("accuracy:", round(classifier.score(X_test, y_test), 3))

# %%
# `rbmbench.from_scikit_learn` takes the parameters of a fitted ``BernoulliRBM``;
# `rbmbench.to_scikit_learn` returns one:

theirs = rbmbench.to_scikit_learn(result.rbm[0])
print(theirs, abs(theirs.transform(data.astype("f4")) - result.rbm[0].hidden_mean(data)).max() < 1e-6)
