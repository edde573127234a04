# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of one run, and a page that shows them: what `rbmbench fit` leaves beside the files of a run."""

import base64
from pathlib import Path

from rbmbench.io.layout import CURVE, EVALUATION, FIT_PAGE, FIT_PICTURES, META, MODEL
from rbmbench.reporting.page.html import template
from rbmbench.reporting.style import finish_axes, page, save, theme
from rbmbench.reporting.text_tables import write_text
from rbmbench.training.run import TrainingResult

CAPTIONS = {
    "curve": "Mean log-likelihood of the training rows during training, in nats; with several trials, their mean and "
    "range.",
    "filters": "Weights of the first 100 hidden units of the first model.",
    "samples": "Samples of the first model, by parallel tempering from uniform states.",
}


def write_run_page(result: TrainingResult, folder: Path, shape: tuple[int, int] | None, samples: int) -> None:
    """Draw curve, filters and samples of a run into its folder as PNG, and write the page that holds them.

    The page needs no other file and runs no script; its text is escaped. ``shape`` is that of the images, by default
    that of the data set; ``samples`` is the number of samples. `ResultsError` if a file cannot be written.
    """
    draw = {
        "curve": lambda ax: finish_axes(result.plot(ax=ax)),
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
        summary=result.summary(),
        pictures=[
            (name, base64.b64encode((folder / file).read_bytes()).decode(), CAPTIONS[name])
            for name, file in FIT_PICTURES.items()
        ],
        folder=str(folder),
        annealed=bool(result.snapshots),
        files={"model": MODEL, "curve": CURVE, "meta": META, "evaluation": EVALUATION},
    )
    write_text(text, folder / FIT_PAGE)
