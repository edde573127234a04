# SPDX-License-Identifier: BSD-3-Clause
"""Model expectations of trained models, exact or by parallel tempering, which gradient estimates are compared with."""

from types import MappingProxyType

from rbmbench.base.settings import GroundTruthSettings
from rbmbench.io.layout import TRUTH
from rbmbench.jobs import probes
from rbmbench.jobs._base import Measurement, Results
from rbmbench.jobs._costs import MANY, measurement_memory, measuring
from rbmbench.jobs._registry import REGISTRY
from rbmbench.measurements import gradient_bias
from rbmbench.model.work import Counter, Work, product, tempered, times


@REGISTRY.register
class GroundTruthJob(Measurement):
    """Computation of model expectations."""

    Settings = GroundTruthSettings
    folder, files = "gradients", (TRUTH,)
    rule, infix, title = "compute_ground_truth", "truth", "model expectation"
    model_axes = MappingProxyType({"mean": 0, "blocks": 1})

    def measure(self, task, rbm, dataset, progress, checkpointer):
        truth = gradient_bias.ground_truth(rbm, dataset.train, task.settings, progress, checkpointer, task.chosen)
        return Results({TRUTH: vars(truth)})

    def work(self, settings, sizes, pilot=False):
        m, n = sizes.m, sizes.n
        if settings.method == "exact":
            states, larger = 2 ** min(m, n), max(m, n)
            counts = Counter({"state": states, "state unit": 3 * states * larger, "row product": 4 * states * m * n})
        else:
            counts = tempered(settings.chains * (settings.burn_in + settings.samples), m, n)
            counts += Counter({product(m, n, MANY): 4 * settings.samples * m * n, "unit": settings.samples * n})
        memory = measurement_memory(sizes.rows, m, n, sizes.trials, batch=1)
        return Work(measuring(times(counts, sizes.trials)), memory)

    def probe(self, settings, visible, hidden, precision):
        rbm, rows = probes.models(visible, hidden, precision), probes.rows(visible)
        return vars(gradient_bias.ground_truth(rbm, rows, settings))
