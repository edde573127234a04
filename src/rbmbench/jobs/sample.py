# SPDX-License-Identifier: BSD-3-Clause
"""Streams of samples of trained models by several samplers, and their indirect sampling likelihoods."""

from collections.abc import Mapping

import numpy as np

from rbmbench import datasets, samplers
from rbmbench.base.settings import SamplerGrid, SamplingSettings
from rbmbench.io.layout import ISL, SHOWN
from rbmbench.jobs import probes
from rbmbench.jobs._base import Measurement, Results
from rbmbench.jobs._costs import measuring
from rbmbench.jobs._registry import REGISTRY
from rbmbench.likelihood.indirect_sampling import FLIPS, STRIDE, TOGETHER
from rbmbench.measurements import sampling
from rbmbench.measurements.sampling import ARRAYS_A_REPLICA, COUNT_BYTES
from rbmbench.model.work import Counter, Work, product, tempered, times
from rbmbench.training.shards import SHARD_BYTES

# Assumed until a job has run or the data exist: mean steps until herding reaches a fixed point; the share of units that
# change in a step, of the products by which single chains follow them; validation rows, and as many test rows.
ASSUMED_HERDING_STEPS, ASSUMED_CHANGES, ASSUMED_ROWS = 5, 0.15, 1000
LIKELIHOODS_OF_VALIDATION_ROWS = len(FLIPS) // STRIDE + 2 * STRIDE - 1  # of which the best is searched at each point


@REGISTRY.register
class SampleJob(Measurement):
    """Samples by all samplers of a panel."""

    Settings = SamplingSettings
    folder, files = "samples", (ISL, SHOWN)
    rule, infix, title = "sample_models", "samples", "samples"
    alternates = True

    def measure(self, task, rbm, dataset, progress, checkpointer):
        sampled = sampling.sampled(rbm, dataset, task.settings, progress, checkpointer, task.chosen)
        grids = {name: grid.settings for name, grid in task.settings.samplers.items()}
        meta = {"grids": grids, "seconds_per_sample": sampled.seconds}
        return Results({ISL: sampled.likelihoods, SHOWN: sampled.shown}, meta)

    def gathered(self, metas):
        """See `Measurement`. Times are means over the chains of all blocks."""
        blocks, trials = [meta["seconds_per_sample"] for meta in metas], [meta["block"][1] for meta in metas]
        pairs = {name: zip(*(block[name] for block in blocks), strict=True) for name in blocks[0]}
        means = {
            name: [None if None in times else float(np.average(times, weights=trials)) for times in settings]
            for name, settings in pairs.items()
        }
        return {"seconds_per_sample": means}

    def work(self, settings, sizes, pilot=False):
        rows, m, n, trials, counts = sizes.rows, sizes.m, sizes.n, sizes.trials, Counter()
        validation, test = (sizes.held_out.get(name, ASSUMED_ROWS) for name in ("validation", "test"))
        validation, test = (min(count, settings.rows or count) for count in (validation, test))
        shard_replicas = max(1, SHARD_BYTES // (ARRAYS_A_REPLICA * 4 * m * n))  # replicas
        for grid in settings.samplers.values():
            for options, replicas in _sampled_at_once(grid, trials):
                operations = _one_sample(grid.name, options, rows, m, n)
                operations["counted distance"] = validation + test
                counts.update(times(operations, settings.samples * replicas))
                calls = settings.samples * ASSUMED_HERDING_STEPS if grid.name == "herding" else 1
                counts["call"] += calls * -(-replicas // shard_replicas)
                likelihoods = (LIKELIHOODS_OF_VALIDATION_ROWS + 1) * validation + test
                counts["likelihood term"] += settings.points * replicas * likelihoods * -(-(m + 1) // TOGETHER)
        streams = trials * max(len(grid.settings) for grid in settings.samplers.values())  # of one sampler, at once
        kept = 12 * streams * m * n + min(8 * streams * (validation + test) * (m + 1), COUNT_BYTES)
        return Work(measuring(counts), {"process": 1, "kept entry": rows * m, "byte": kept})

    def reduced(self, settings, values):
        entries = values["samplers"].items()
        grids = {name: {key: grid[:2] for key, grid in entry["grid"].items()} for name, entry in entries}
        return {"samplers": {name: entry | {"grid": grids[name]} for name, entry in entries}}

    def probe(self, settings, visible, hidden, precision):
        rows, few = probes.rows(visible), probes.UNSEEN
        parts = {"train": rows, "validation": rows[:few], "test": rows[few : 2 * few]}
        data = datasets.build("probe", "Probe", **parts, source="generated", preprocessing="none", options={})
        sampled = sampling.sampled(probes.models(visible, hidden, precision), data, settings)
        likelihoods = {name: sampled.likelihoods[name].to_numpy(np.float64) for name in ("validation", "test", "flip")}
        # Most samplers have equal likelihoods of so few samples; samples as bits differ, and have no rounding errors.
        return likelihoods | {name: (images > 127).astype(np.float64) for name, images in sampled.shown.items()}


def _sampled_at_once(grid: SamplerGrid, trials: int) -> list[tuple[dict, int]]:
    """Return the settings of a sampler that differ in more than numbers of replicas, each with its replicas."""
    of_replica = samplers.REGISTRY.get(grid.name).of_replica
    groups: dict[str, tuple[dict, int]] = {}
    for options in grid.settings:
        shared = {name: value for name, value in options.items() if name not in of_replica}
        _, count = groups.get(repr(shared), (shared, 0))
        groups[repr(shared)] = shared, count + trials
    return list(groups.values())


def _one_sample(sampler: str, options: Mapping[str, int], rows: int, m: int, n: int) -> Counter:
    """Return the operations of one sample of a single chain, without calls."""
    if sampler == "parallel_tempering":
        return tempered(options.get("k", 1) * options.get("temperatures", 10), m, n)
    steps = ASSUMED_HERDING_STEPS if "herding" in sampler else options.get("k", 1)
    # Where parameters move with the samples, the rates of the data are a second matrix.
    matrices = 1 if sampler in ("gibbs", "herding") else 2
    changes = 1 if sampler == "herding" else ASSUMED_CHANGES
    counts = Counter({"chain product": 4 * matrices * steps * changes * m * n, "unit": steps * (m + n)})
    if sampler != "gibbs":
        counts["chain parameter"] += m * n
    if sampler == "herding":
        batch = min(options.get("batch", 100), rows)
        counts[product(m, n, batch)] += 4 * batch * m * n
    return counts
