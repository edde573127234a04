# SPDX-License-Identifier: BSD-3-Clause
"""The subcommands for files of a user: train on data, and show what came of it; certify a model."""

from argparse import Namespace
from pathlib import Path

from rbmbench.base.errors import DataError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import AnnealingSettings, CertificateSettings
from rbmbench.cli import computing
from rbmbench.cli.parser import plain_data
from rbmbench.cli.progress import shown_progress
from rbmbench.io.layout import EVALUATION, FIT_PAGE, MODEL
from rbmbench.jobs import of_name
from rbmbench.likelihood import is_enumerable
from rbmbench.measurements.certificate import certificate
from rbmbench.measurements.verdicts import facts, verdict
from rbmbench.model.rbm import RBM
from rbmbench.reporting.plots import check_shape
from rbmbench.reporting.run_page import write_run_page
from rbmbench.reporting.text_tables import write_csv
from rbmbench.training.run import load_run

EVALUATIONS = 20
"""Evaluations of a run, unless their interval is given: annealing each of them takes seconds."""
ANNEALING = AnnealingSettings(particles=100, temperatures=1000)
TEMPERING = {"target_error": 0.05}
"""Of log Z of a certificate; an interval of 0.3 nats would be doubtful."""


def fit(arguments: Namespace) -> None:
    """Train a run, evaluate it, and write its files, pictures and page."""
    arguments.evaluate_every = arguments.evaluate_every or max(1, arguments.iterations // EVALUATIONS)
    settings, dataset = computing.run_of(arguments)
    visible = dataset.train.shape[1]
    if arguments.shape:
        check_shape(arguments.shape, visible)
    computing.trained(arguments, settings, dataset)
    if not is_enumerable(visible, settings.hidden):
        of_name("evaluate").compute(computing.task_of(_evaluation(arguments), ANNEALING))
    result = load_run(arguments.out)
    write_run_page(result, arguments.out, arguments.shape, arguments.samples)
    print(*(f"{title}: {text}" for title, text in result.summary().items()), sep="\n")
    print(f"page: {arguments.out / FIT_PAGE}")


def _evaluation(arguments: Namespace) -> Namespace:
    """Return the arguments of `computing.task_of` for the run; its checkpoint is beside that of the run."""
    given = vars(arguments) | {"model": arguments.out}
    if checkpoint := arguments.checkpoint:
        given["checkpoint"] = Path(f"{checkpoint.with_suffix('')}-{EVALUATION}{checkpoint.suffix}")
    return Namespace(**given | {"out": arguments.out / EVALUATION})


def certify(arguments: Namespace) -> None:
    """Print the verdict on each model of a file, and what it rests on."""
    file = arguments.model / MODEL if arguments.model.is_dir() else arguments.model
    budget = {"tempering": TEMPERING} | plain_data("--settings", arguments.settings)
    settings = parse(CertificateSettings, budget, "--settings")
    dataset, rbm = computing.read_data(arguments), RBM.load(file).replicas
    if (found := dataset.train.shape[1]) != rbm.visible_units:
        raise DataError(f"{arguments.data}: found {found} columns; {file} has {rbm.visible_units} visible units")
    with shown_progress(file.name, "models") as progress:
        quantities = certificate(rbm, dataset.train, settings, dataset.test, progress)
    if arguments.out:
        write_csv(quantities, arguments.out)
    for trial, of_model in quantities.groupby("trial"):
        print(f"model {trial}: {verdict(of_model).in_words}", *(f"  {line}" for line in facts(of_model)), sep="\n")
