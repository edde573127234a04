# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts on trained models: thresholds on the quantities of a certificate, each with its reason.

A model is **not certified** if its log Z is not known, its long chains differ from its short ones, it is worse than
independent units, another temperature or other rates of its units would improve it much, or it has missing or spurious
modes. It is **doubtful** if a milder threshold is exceeded. Otherwise it is "certified" in files,
and described by `Verdict.in_words`.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from rbmbench.measurements.modes import RATIO, SHARES

CERTIFIED, DOUBTFUL, NOT_CERTIFIED = "certified", "doubtful", "not certified"
WIDTH = 1.0, 0.3  # widths of the interval of log Z, nats: not certified, doubtful
SHARE = 0.01, 0.1  # effective sample sizes of annealing, as shares of the particles
MIXED = 1.2, 1.1  # split R hat of the free energies of tempered chains
RISE = (1.5, 0.5), (1.25, 0.2)  # factor and term by which long chains are farther from the rows than short ones were
CLEAR = 4.0  # standard errors of a difference of distances
GAIN = 0.1, 0.05  # gain of another temperature, as a share of the gain over independent units
LEAST_GAIN = 0.02  # nats per row below which a gain does not count
RATES = 0.1, 0.05  # divergence that the rate of one unit implies, nats per row
MODES = {
    "missing": "at least {:.1%} of the rows are where the model has less than a third of that mass",
    "spurious": "at least {:.1%} of the model's samples are where less than a third of that share of the rows is",
}
ENOUGH = "missing or spurious modes of at least {:.1%} of the mass would have been seen"
FEW = "the rows are too few to see missing or spurious modes of less than {:.1%} of the mass"
FEW_ROWS = 0.2  # size of a mode that must be seen for the rows to be enough
UNLIKE, COPIED = 0.9, 0.1
"""Adversarial accuracy from which samples differ from rows; test accuracy less that of training rows: overfitted."""


@dataclass(frozen=True)
class Verdict:
    """Verdict of a certificate: "certified", "doubtful" or "not certified".

    ``reasons`` are faults of the model, the most serious first; ``remarks`` are no faults. ``detectable``
    is the least share of the mass of a mode, missing or spurious, that would have been detected with probability
    0.9: 1 if there is none, None in certificates of versions that did not test for modes.
    """

    word: str
    reasons: tuple[str, ...]
    remarks: tuple[str, ...]
    detectable: float | None = None

    @property
    def in_words(self) -> str:
        """The verdict for readers; without faults, with the size of a mode that would have been detected."""
        if self.word != CERTIFIED:
            return str(self)
        seen = "modes were not tested"
        if self.detectable is not None:
            words = FEW if self.detectable > FEW_ROWS else ENOUGH
            seen = words.format(math.ceil(1000 * self.detectable) / 1000)
        return f"nothing wrong found: {seen}"

    def __str__(self):
        return f"{self.word}: {'; '.join(self.reasons)}" if self.reasons else self.word


def verdict(quantities: pd.DataFrame) -> Verdict:
    """Return the verdict on one model from the rows of its certificate; see `rbmbench.measurements.certificate`."""
    scalars, walks = _read(quantities)
    grave, mild = [], []
    for words, grades in _findings(scalars, walks):
        for holds, reasons in zip(grades, (grave, mild), strict=True):
            if holds:
                reasons.append(words)
                break
    word = NOT_CERTIFIED if grave else DOUBTFUL if mild else CERTIFIED
    detectable = max((scalars[f"{name}_detectable"] for name in MODES if "held_out" in scalars), default=None)
    return Verdict(word, (*grave, *mild), tuple(_remarks(scalars)), detectable)


def facts(quantities: pd.DataFrame, rows: str = "training rows") -> Iterator[str]:
    """Yield lines with the quantities behind the verdict on one model, and remarks; ``rows`` names the rows."""
    values, walks = _read(quantities)
    ends = (f"{values[f'log_partition_{end}']:.6g}" for end in ("low", "high"))
    exact = f", exact {values['exact_log_partition']:.6g}" if "exact_log_partition" in values else ""
    if "tempered_round_trips" in values:
        basis = f"{values['tempered_round_trips']:.0f} round trips of tempered chains"
    else:
        shares = (f"{values[f'{side}_share']:.0%}" for side in ("forward", "reverse"))
        basis = f"effective particles {', '.join(shares)}"
    yield f"log Z: {' to '.join(ends)} nats{exact}; {basis}"
    likelihoods = (f"{values[f'log_likelihood_{end}']:.5g}" for end in ("low", "high"))
    yield (
        f"log-likelihood of the {rows}: {' to '.join(likelihoods)} nats per row"
        f" (independent units {values['independent_log_likelihood']:.5g})"
    )
    nearest = walks["from_noise"].idxmin()
    yield (
        f"distance of the moments of long chains: {values['distance']:.2g} of that of independent units;"
        f" of chains from noise at best {walks['from_noise'][nearest]:.2g}, after {nearest} steps"
    )
    yield f"R hat of tempered chains: {values['r_hat']:.3f}"
    yield f"gain of another temperature: at least {values['temperature_gain_low']:.2g} nats per row"
    yield f"loss by the rates of single units: at least {values['rate_divergence_low']:.2g} nats per row"
    if "held_out" in values:
        shares = (f"{name} {values[f'{name}_low']:.1%} to {values[f'{name}_high']:.1%}" for name in MODES)
        compared = f"{values['compared_rows']:.0f} {'held-out rows' if values['held_out'] else rows}"
        yield f"mass that is off by more than a factor of {RATIO:g} beside {compared}: {', '.join(shares)}"
    held_out = f", of test rows {values['test_accuracy']:.2f}" if "test_accuracy" in values else ""
    yield f"adversarial accuracy of samples beside {rows}: {values['accuracy']:.2f}{held_out}"
    yield from verdict(quantities).remarks


def _read(quantities: pd.DataFrame) -> tuple[dict[str, float], pd.DataFrame]:
    scalars = quantities[quantities["step"] == 0].set_index("quantity")["value"].to_dict()
    return scalars, quantities[quantities["step"] > 0].pivot(index="step", columns="quantity", values="value")


def _findings(values: Mapping[str, float], walks: pd.DataFrame) -> Iterator[tuple[str, tuple[bool, bool]]]:
    """Yield words, and whether they hold by the threshold of models that are not certified, and of doubtful ones."""
    width = values["log_partition_high"] - values["log_partition_low"]
    yield f"log Z is known to {width:.2g} nats only", tuple(not width <= limit for limit in WIDTH)
    if "tempered_converged" in values:
        words = f"tempered chains end before they converge, standard error of log Z {values['tempered_error']:.2g} nats"
        yield words, (False, not values["tempered_converged"])
    else:
        share = min(values["forward_share"], values["reverse_share"])
        yield f"annealing rests on {share:.1%} of its particles", tuple(not share >= limit for limit in SHARE)
    mixed = values["r_hat"]
    yield f"tempered chains have not mixed, R hat {mixed:.2f}", tuple(mixed > limit for limit in MIXED)
    best = walks["from_noise"].idxmin()
    short, error = walks.loc[best, ["from_noise", "from_noise_error"]]
    clear = values["distance"] - short > CLEAR * (values["distance_error"] ** 2 + error**2) ** 0.5
    words = f"moments are {values['distance']:.2g} from those of the rows in long chains"
    grades = tuple(clear and values["distance"] > factor * max(short, 0.0) + term for factor, term in RISE)
    yield f"{words}, {short:.2g} after {best} steps", grades
    over = values["log_likelihood_high"] - values["independent_log_likelihood"]
    yield f"{-over:.2g} nats per row worse than independent units", (over < 0, over < 0)
    gain = values["temperature_gain_low"]
    large = tuple(gain > max(LEAST_GAIN, share * over) for share in GAIN)
    yield f"another temperature gains {gain:.2g} nats per row", large
    rates = values["rate_divergence_low"]
    yield f"the rate of one unit alone costs {rates:.2g} nats per row", tuple(rates > limit for limit in RATES)
    for name, words in MODES.items() if "held_out" in values else ():
        low = values[f"{name}_low"]
        yield words.format(low), tuple(low > limit for limit in SHARES)


def _remarks(values: Mapping[str, float]) -> Iterator[str]:
    accuracy = values["accuracy"]
    if accuracy > UNLIKE:
        yield f"underfitted: samples are told from rows with an accuracy of {accuracy:.2f}"
    if (held_out := values.get("test_accuracy", accuracy)) - accuracy > COPIED:
        yield f"overfitted: accuracy {accuracy:.2f} beside training rows, {held_out:.2f} beside test rows"
