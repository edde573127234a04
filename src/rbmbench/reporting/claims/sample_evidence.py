"""What claims on samples are checked against: the likelihoods of the chosen setting of one sampler."""

from dataclasses import dataclass

import pandas as pd

from rbmbench.io.results import read_meta
from rbmbench.reporting.samples import curves_of_panel, stand_in, training_set
from rbmbench.reporting.specs import SampledPanel

__all__ = ["SampleCurve", "read_sample_curve"]


@dataclass(frozen=True)
class SampleCurve:
    """The test likelihoods of one sampler, nats a row, as trials by numbers of samples.

    ``training_set`` is that of the training rows; ``seconds`` the processor's seconds a sample by the number k of steps
    between samples, the least of all settings, as far as they are known.
    """

    label: str
    panel: SampledPanel
    trials: pd.DataFrame
    training_set: float
    seconds: dict[int, float]
    stand_in: str
    dropped: tuple[str, ...] = ()

    @property
    def final(self) -> pd.Series:
        """The likelihood after all samples, by trial."""
        return self.trials.iloc[:, -1]

    @property
    def budget(self) -> dict[str, tuple[float | None, float | None]]:
        """What was run and what the paper ran: iterations of training, samples and trained models."""
        panel = self.panel
        return {
            "iterations": (panel.iterations, panel.paper_iterations),
            "samples": (panel.samples_count, panel.paper_samples),
            "trials": (len(self.trials), panel.paper_trials),
        }


def read_sample_curve(panel: SampledPanel, sampler: str) -> SampleCurve:
    """Return the curve of a sampler of a panel; see `rbmbench.reporting.samples.chosen` for errors."""
    found = curves_of_panel(panel)
    found = found[found["sampler"] == sampler]
    trials = found.pivot(index="trial", columns="samples", values="test").sort_index(axis=1).astype(float)
    label = next(one.label for one in panel.samplers if one.sampler == sampler)
    return SampleCurve(label, panel, trials, training_set(panel), _seconds(panel, sampler), stand_in(panel))


def _seconds(panel: SampledPanel, sampler: str) -> dict[int, float]:
    """Return the processor's seconds a sample by k, which is 1 where a sampler has no such option."""
    meta, found = read_meta(panel.samples.folder), {}
    for options, seconds in zip(meta["grids"][sampler], meta["seconds_per_sample"][sampler], strict=True):
        k = options.get("k", 1)
        if seconds:
            found[k] = min(seconds, found.get(k, seconds))
    return found
