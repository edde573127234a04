# SPDX-License-Identifier: BSD-3-Clause
"""Titles and units of the metrics of a curve, for axes and captions.

A metric that is not in the table is shown under its own name, without a unit.
"""

import math
from dataclasses import dataclass, replace
from functools import partial


@dataclass(frozen=True)
class Metric:
    """Title and unit of a metric.

    ``summed`` metrics are means per sample, in nats, that figures show summed over the training set. ``momentary``
    metrics describe the parameters at an evaluation; others are means over the iterations since the previous one, or
    their largest value, see `is_largest`.
    Values at or above ``ceiling`` are uninformative and are not drawn.
    """

    title: str
    unit: str = ""
    summed: bool = False
    momentary: bool = False
    ceiling: float = math.inf

    @property
    def label(self) -> str:
        """Title and unit: "log Z (nats)"."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


LEVEL = 0.95
"""Level of all intervals."""
INTERVAL = f"{100 * LEVEL:g} % interval"  # in words
TAILS = (1 - LEVEL) / 2, (1 + LEVEL) / 2
NORMAL = 1.96  # quantile TAILS[1] of the normal distribution: standard errors on each side of an interval
SURELY = math.log(40)
"""Nats that annealing from the base model is above log Z in at most 2.5 of 100 cases, by Markov's inequality."""

_nats = partial(Metric, unit="nats", momentary=True)

METRICS = {
    "log_likelihood": _nats("log-likelihood", summed=True),
    "reconstruction_log_likelihood": _nats("reconstruction log-likelihood, no bound", summed=True),
    "reconstruction_log_likelihood_error": _nats("standard error of the reconstruction log-likelihood"),
    "validation_log_likelihood": _nats("mean log-likelihood of the validation rows"),
    "validation_pseudo_log_likelihood": _nats("mean log pseudo-likelihood of the validation rows"),
    "test_log_likelihood": _nats("mean log-likelihood of the test rows"),
    "log_partition": _nats("log Z"),
    "log_partition_error": _nats("standard error of log Z"),
    "log_partition_low": _nats("lower end of the interval of log Z"),
    "log_partition_high": _nats("upper end of the interval of log Z"),
    "annealing_effective_sample_size": Metric("effective sample size of the annealing", "particles", momentary=True),
    "log_partition_gap": _nats("difference of log Z of two starts"),
    "log_partition_drift": _nats("change of log Z along the chains"),
    "log_partition_acceptance": Metric("least acceptance of exchanges", momentary=True),
    "log_partition_round_trips": Metric("round trips of tempered chains", momentary=True),
    "log_partition_products": Metric("rows times W, for log Z", momentary=True),
    "log_partition_converged": Metric("whether log Z has the error asked for", momentary=True),
    "cd_bias": Metric("largest bias of a parameter", momentary=True),
    "bias_bound": Metric("bound of the bias", momentary=True),
    "bias_bound_gap": Metric("bound less bias", momentary=True),
    "older_bias_bound": Metric("older bound of the bias", momentary=True, ceiling=1.0),
    "total_variation": Metric("total variation between data and model", momentary=True),
    "energy_change": _nats("largest change of the energy by one unit"),
    "effective_sample_size": Metric("effective sample size", "rows"),
    "largest_weight_sum": Metric("largest sum of weights"),
    "stopping_time": Metric("mean stopping time τ", "Gibbs steps"),
    "rejections": Metric("mean rejected proposals", "per chain"),
    "forced_meetings": Metric("share of chains that met by force"),
    "truncated_attempts": Metric("share of chains whose rejection sampling was cut off"),
    "pair_products": Metric("products of a row with W, of a pair of chains", "per iteration"),
    "products": Metric("matrix products", "of a trial", momentary=True),
    "swap_acceptance": Metric("acceptance of exchanges with the last checkpoint"),
    "checkpoints": Metric("checkpoints frozen"),
    "row_products": Metric("products of a row with W, of the negative phase", "per iteration"),
    "gradient_variance_W": Metric("variance of the model term, W"),
    "gradient_variance_b": Metric("variance of the model term, b"),
    "gradient_variance_c": Metric("variance of the model term, c"),
    "isl": Metric("test log-likelihood (ISL, nats per row)", momentary=True),
    "held_out_log_likelihood": Metric("held-out log-likelihood", "nats per row", momentary=True),
    "tuning_log_likelihood": Metric("log-likelihood of validation rows", "nats per row", momentary=True),
}

LIKELIHOODS = "log_likelihood", "validation_log_likelihood", "test_log_likelihood"
COMPARED = "compared_"
"""Prefix of the metrics of annealing at evaluations whose log Z is that of tempered chains."""
METRICS |= {
    COMPARED + name: replace(METRICS[name], title=f"{METRICS[name].title}, by annealed importance sampling")
    for name in (*LIKELIHOODS, "log_partition", "log_partition_error", "annealing_effective_sample_size")
}

TEMPERED = ("gap", "drift", "acceptance", "round_trips", "products", "converged")
"""Fields of `rbmbench.likelihood.TemperedEstimate`; with "log_partition_" before them, metrics."""
ANNEALED = (
    *LIKELIHOODS,
    "log_partition",
    "log_partition_error",
    "log_partition_low",
    "log_partition_high",
    "annealing_effective_sample_size",
    *(f"log_partition_{name}" for name in TEMPERED),
    *(name for name in METRICS if name.startswith(COMPARED)),
)
"""Metrics that are computed after the run where log Z cannot be enumerated."""


ERRORS = {
    **{prefix + name: f"{prefix}log_partition_error" for prefix in ("", COMPARED) for name in LIKELIHOODS},
    "reconstruction_log_likelihood": "reconstruction_log_likelihood_error",
}
"""The metrics that hold the standard errors of others, of one trial at one evaluation, where these are estimates."""


def metric_of(name: str) -> Metric:
    """Return the metric with a name used in curves."""
    return METRICS.get(name) or Metric(name.replace("_", " "))


def is_largest(name: str) -> bool:
    """Return whether a metric is the largest value since the previous evaluation, and not a mean."""
    return name.startswith("largest_")
