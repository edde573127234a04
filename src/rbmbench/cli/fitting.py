"""The subcommand that trains on a user's own file, and shows what came of it."""

from argparse import Namespace
from pathlib import Path

from rbmbench.base.settings import AnnealingSettings
from rbmbench.cli import computing
from rbmbench.io.layout import EVALUATION, FIT_PAGE
from rbmbench.likelihood import is_enumerable
from rbmbench.reporting.plots import check_shape
from rbmbench.reporting.run_page import write_run_page
from rbmbench.training.run import load_run

EVALUATIONS = 20
"""Evaluations of a run, unless their interval is given: annealing each of them takes seconds."""
ANNEALING = AnnealingSettings(particles=100, temperatures=1000)


def fit(arguments: Namespace) -> None:
    """Train a run, evaluate it, and write its files, pictures and page."""
    arguments.evaluate_every = arguments.evaluate_every or max(1, arguments.iterations // EVALUATIONS)
    settings, dataset = computing.run_of(arguments)
    visible = dataset.train.shape[1]
    if arguments.shape:
        check_shape(arguments.shape, visible)
    computing.trained(arguments, settings, dataset)
    if not is_enumerable(visible, settings.hidden):
        computing.evaluate(_evaluation(arguments))
    result = load_run(arguments.out)
    write_run_page(result, arguments.out, arguments.shape, arguments.samples)
    print(*(f"{title}: {text}" for title, text in result.summary().items()), sep="\n")
    print(f"page: {arguments.out / FIT_PAGE}")


def _evaluation(arguments: Namespace) -> Namespace:
    """Return the arguments of `computing.evaluate` for the run; its checkpoint is beside that of the run."""
    given = vars(arguments) | {"settings": ANNEALING.model_dump_json(), "model": arguments.out}
    if checkpoint := arguments.checkpoint:
        given["checkpoint"] = Path(f"{checkpoint.with_suffix('')}-{EVALUATION}{checkpoint.suffix}")
    return Namespace(**given | {"out": arguments.out / EVALUATION})
