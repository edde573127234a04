# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of one run and a page with them, which `rbmbench fit` writes beside the files of a run."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes

from rbmbench.io.atomic import write_text
from rbmbench.io.layout import CURVE, EVALUATION, FIT_PAGE, FIT_PICTURES, META, MODEL
from rbmbench.reporting.page.html import template
from rbmbench.reporting.style import finish_axes, page, save, theme
from rbmbench.training.run import TrainingResult

PARTS = {"log_likelihood": "training rows", "validation_log_likelihood": "held-out rows"}
"""Metrics of the curve that are drawn, in words."""
CAPTIONS = {
    "curve": "Mean log-likelihood during training, in nats per row, of training rows and, if there are any, held-out "
    "rows; with several trials, their mean and range. Dashed: independent units with the rates of the training rows.",
    "filters": "Weights of the first 100 hidden units of the first model.",
    "samples": "Samples of the first model, by parallel tempering from uniform states.",
}


@dataclass(frozen=True)
class Findings:
    """Facts about a run besides its files.

    ``independent`` are the mean log-likelihoods of independent units, by the compared metric of the curve, and ``rows``
    the numbers of rows of these means; ``verdict`` and ``facts`` the words of the certificate of the first model, if
    there is one.
    """

    independent: Mapping[str, float]
    rows: Mapping[str, int]
    verdict: str = ""
    facts: Sequence[str] = ()

    def summary(self) -> dict[str, str]:
        """Return lines of text by their titles."""
        values = [f"{PARTS[metric]} {value:.4g}" for metric, value in self.independent.items()]
        rows = [f"{number} {PARTS[metric]}" for metric, number in self.rows.items()]
        verdict = {"certificate of the first model": self.verdict} if self.verdict else {}
        return {"rows": ", ".join(rows), "independent units": f"{', '.join(values)} nats per row"} | verdict


def loading_code(folder: Path) -> str:
    """Return three lines of Python that load a run and use its first model."""
    return f"import rbmbench\nresult = rbmbench.load_run({str(folder)!r})\nresult.rbm[0].sample(10)"


def write_run_page(
    result: TrainingResult, folder: Path, shape: tuple[int, int] | None, samples: int, findings: Findings
) -> None:
    """Draw curve, filters and samples of a run into its folder as PNG, and write the page that contains them.

    The page is self-contained and has no script; its text is escaped. ``shape`` is that of the images, by default that
    of the data set; ``samples`` is the number of samples. `ResultsError` if a file cannot be written.
    """
    draw = {
        "curve": lambda ax: _draw_curve(result, findings, ax),
        "filters": lambda ax: result.plot_filters(shape=shape, ax=ax),
        "samples": lambda ax: result.plot_samples(samples, result.settings.seed, shape=shape, ax=ax),
    }
    for name, file in FIT_PICTURES.items():
        with theme():
            figure = page(1 if name == "curve" else 2)
            draw[name](figure.subplots())
        save(figure, folder / file)
    text = template("run.html.j2").render(
        title=f"RBM of {result.summary()['data']}",
        summary=result.summary() | findings.summary(),
        facts=findings.facts,
        pictures=[
            (name, base64.b64encode((folder / file).read_bytes()).decode(), CAPTIONS[name])
            for name, file in FIT_PICTURES.items()
        ],
        code=loading_code(folder),
        annealed=bool(result.snapshots),
        files={"model": MODEL, "curve": CURVE, "meta": META, "evaluation": EVALUATION},
    )
    write_text(text, folder / FIT_PAGE)


def _draw_curve(result: TrainingResult, findings: Findings, ax: Axes) -> None:
    for number, (metric, value) in enumerate(findings.independent.items()):
        look = {"color": f"C{number}"}
        result.plot(metric, ax=ax, label=PARTS[metric], **look)
        ax.axhline(value, linestyle="dashed", linewidth=1, **look)
    ax.set_ylabel("log-likelihood (nats per row)")
    ax.legend(frameon=False)
    finish_axes(ax)
