# SPDX-License-Identifier: BSD-3-Clause
"""Bias and variance of a gradient estimator on trained models."""

from pathlib import Path

import numpy as np

from rbmbench import estimators
from rbmbench.base.errors import ResultsError
from rbmbench.base.settings import EstimateSettings
from rbmbench.io import results
from rbmbench.io.layout import BIAS, TRUTH
from rbmbench.jobs import probes
from rbmbench.jobs._base import Measurement, Results
from rbmbench.jobs._costs import measurement_memory, measuring
from rbmbench.jobs._registry import REGISTRY
from rbmbench.measurements import gradient_bias
from rbmbench.model.rbm import RBM
from rbmbench.model.work import Work, times
from rbmbench.training.shards import trials_of_shard


@REGISTRY.register
class EstimateJob(Measurement):
    """A series of gradient estimates; it reads the ground truths that they are compared with."""

    Settings = EstimateSettings
    folder, files = "gradients", (BIAS,)
    rule, infix, title = "measure_bias", "bias", "bias"
    alternates = True

    def measure(self, task, rbm, dataset, progress, checkpointer):
        truths = {}
        for folder in task.needs:
            truths[results.read_meta(folder)["settings"]["method"]] = _truth(folder / TRUTH, rbm)
        arguments = task.settings, truths, progress, checkpointer, task.chosen
        measured = gradient_bias.measure(rbm, dataset.train, *arguments)
        return Results({BIAS: measured})

    def work(self, settings, sizes, pilot=False):
        m, n, trials, batch = sizes.m, sizes.n, sizes.trials, settings.batch
        estimator = estimators.create(settings.estimator.name, **settings.estimator.options)
        cost = estimator.cost(batch, m, n)
        counts = times(cost, settings.estimates * trials)
        counts["call"] = cost["call"] * settings.estimates * -(-trials // trials_of_shard(batch, m, n, 4))
        counts["moment"] += settings.estimates * trials * (m * n + m + n)
        counts["row entry"] += trials * sizes.rows * m
        return Work(measuring(counts), measurement_memory(sizes.rows, m, n, trials, batch))

    def reduced(self, settings, values):
        return {"batch": probes.BATCH}

    def probe(self, settings, visible, hidden, precision):
        rbm, rows = probes.models(visible, hidden, precision), probes.rows(visible)
        parameters = rbm.W[0].size + visible + hidden
        truth = gradient_bias.GroundTruth(np.zeros((probes.TRIALS, parameters)), np.empty(0))
        measured = probes.by_column(gradient_bias.measure(rbm, rows, settings, {"exact": truth}), "quantity")
        return {name: values for name, values in measured.items() if name != "seconds_per_estimate"}


def _truth(file: Path, rbm: RBM) -> gradient_bias.GroundTruth:
    arrays = results.read_arrays(file, ("mean", "blocks"))
    mean, blocks = arrays["mean"], arrays["blocks"]
    shape = len(rbm.W), rbm.W[0].size + rbm.b[0].size + rbm.c[0].size
    if mean.shape != shape or blocks.shape[1:] != shape or {mean.dtype.kind, blocks.dtype.kind} != {"f"}:
        shapes = f"mean {mean.shape} of {mean.dtype} and blocks {blocks.shape} of {blocks.dtype}"
        raise ResultsError(f"{file}: must be floating point, (..., {shape[0]}, {shape[1]}) as the models, got {shapes}")
    return gradient_bias.GroundTruth(mean, blocks)
