# SPDX-License-Identifier: BSD-3-Clause
"""Certificates of trained models: log Z from both sides, and long chains beside the rows."""

from rbmbench.base.settings import LEAST_SWEEPS, CertificateSettings
from rbmbench.io.layout import CERTIFICATE
from rbmbench.jobs import probes
from rbmbench.jobs._base import Measurement, Results
from rbmbench.jobs._costs import likelihood_of_rows, measuring
from rbmbench.jobs._registry import REGISTRY
from rbmbench.measurements.certificate import certificate
from rbmbench.measurements.modes import MOST_ROWS
from rbmbench.model.work import Counter, Work, dense_product, product, tempered, times


@REGISTRY.register
class CertificateJob(Measurement):
    """The certificates of some models of a run."""

    Settings = CertificateSettings
    folder, files = "certificates", (CERTIFICATE,)
    rule, infix, title = "certify_models", "certificate", "certificate"

    def measure(self, task, rbm, dataset, progress, checkpointer):
        settings = task.settings
        if task.block:
            first, models = task.block
            update = {"first_model": settings.first_model + first, "models": models}
            settings = settings.model_copy(update=update)
        quantities = certificate(rbm, dataset.train, settings, dataset.test, progress, checkpointer)
        return Results({CERTIFICATE: quantities})

    def parts(self, settings, sizes):
        return settings.examined(sizes.trials), 1

    def of_any_trials(self, settings):
        return settings.model_copy(update={"models": None})

    def work(self, settings, sizes, pilot=False):
        rows, m, n = sizes.rows, sizes.m, sizes.n
        annealed, walked = settings.chain_steps, 2 * settings.walkers * settings.steps
        annealed *= 1 if settings.tempering else 2
        counts = tempered(settings.chains * settings.ladder * settings.sweeps, m, n)
        counts[product(m, n, settings.particles)] += 4 * (annealed + walked) * m * n
        counts["row"] += annealed + walked
        counts["unit"] += annealed * (m + 2 * n) + walked * (m + n)
        counts["call"] += 2 * settings.temperatures + settings.steps + settings.sweeps
        counts[dense_product(m, n)] += 2 * rows * m * (m + n)
        counts += Counter(likelihood_of_rows(rows, m, n))
        kept = 8 * rows * n + 16 * settings.walkers**2 + 16 * m * m
        kept += 8 * max(MOST_ROWS, 64 * settings.chains) * (m + 2 * n)
        memory = {"process": 1, "read entry": rows * m, "byte": kept}
        return Work(measuring(times(counts, settings.examined(sizes.trials))), memory)

    def reduced(self, settings, values):
        return {"sweeps": LEAST_SWEEPS, "first_model": 0, "models": None}

    def probe(self, settings, visible, hidden, precision):
        rbm, rows = probes.models(visible, hidden, precision), probes.rows(visible)
        return probes.by_column(certificate(rbm, rows, settings, rows[: probes.UNSEEN]), "quantity")
