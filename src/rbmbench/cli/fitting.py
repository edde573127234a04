# SPDX-License-Identifier: BSD-3-Clause
"""The subcommands for files of a user: train and show the result, certify a model, score rows."""

import sys
from argparse import Namespace
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rbmbench.base.errors import DataError, RbmbenchError, ResultsError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import Annealed, AnnealingSettings, CertificateSettings, RunSettings, Seed
from rbmbench.cli import computing
from rbmbench.cli.progress import shown_progress
from rbmbench.datasets import REGISTRY, Dataset
from rbmbench.datasets.user_file import may_lack_features
from rbmbench.io.layout import EVALUATION, FIT_PAGE, META, MODEL
from rbmbench.io.results import read_meta
from rbmbench.jobs import of_name
from rbmbench.jobs.fingerprints import fingerprint
from rbmbench.likelihood import base_rate_bias, exact_log_partition, is_enumerable
from rbmbench.likelihood.annealing import independent_log_likelihood
from rbmbench.likelihood.exact import normalised
from rbmbench.measurements.certificate import certificate
from rbmbench.measurements.verdicts import facts, verdict
from rbmbench.model.rbm import RBM
from rbmbench.reporting.run_page import Findings, loading_code, write_run_page
from rbmbench.reporting.text_tables import write_csv
from rbmbench.training.plots import check_shape
from rbmbench.training.run import TrainingResult, load_run
from rbmbench.training.snapshots import log_partition_of

ROWS_AT_ONCE = 5000
EVALUATIONS = 20  # evaluations of a run, unless their interval is given: annealing each of them takes seconds
ANNEALING = AnnealingSettings(particles=100, temperatures=1000)
TEMPERING = {"target_error": 0.05}  # of log Z of a certificate; an interval of 0.3 nats would be doubtful


class ScoreSettings(Annealed):
    """Estimation of log Z for the scores of rows, and its seed."""

    seed: Seed = 0


def fit(arguments: Namespace) -> None:
    """Train a run, evaluate it, and write its files, pictures and page."""
    arguments.evaluate_every = arguments.evaluate_every or max(1, arguments.iterations // EVALUATIONS)
    settings, dataset = computing.run_of(arguments)
    visible = dataset.train.shape[1]
    if arguments.shape:
        check_shape(arguments.shape, visible)
    if not _is_trained(arguments, settings, dataset):
        of_name("train").compute(computing.task_of(arguments, settings), dataset)
    if not is_enumerable(visible, settings.hidden):
        values = vars(arguments) | {"model": arguments.out, "out": arguments.out / EVALUATION}
        if checkpoint := arguments.checkpoint:  # beside that of the run
            values["checkpoint"] = Path(f"{checkpoint.with_suffix('')}-{EVALUATION}{checkpoint.suffix}")
        of_name("evaluate").compute(computing.task_of(Namespace(**values), ANNEALING), dataset)
    result = load_run(arguments.out)
    findings = _findings(arguments, result, dataset)
    write_run_page(result, arguments.out, arguments.shape, arguments.samples, findings)
    print(*(f"{title}: {text}" for title, text in (result.summary() | findings.summary()).items()), sep="\n")
    print(f"page: {arguments.out / FIT_PAGE}", loading_code(arguments.out), sep="\n")


def _is_trained(arguments: Namespace, settings: RunSettings, dataset: Dataset) -> bool:
    """Return whether an interrupted command with a checkpoint has finished the training, with the same code."""
    if not arguments.checkpoint or arguments.checkpoint.exists():
        return False
    with suppress(ResultsError):
        meta = read_meta(arguments.out)
        code = fingerprint(settings, dataset.train.shape[1])
        sought = settings.model_dump(mode="json"), dataset.provenance["content_sha256"], code
        return (meta["settings"], meta["data"]["content_sha256"], meta["code"]) == sought
    return False


def _findings(arguments: Namespace, result: TrainingResult, dataset: Dataset) -> Findings:
    """Return the log-likelihoods of independent units, and the certificate of the first model."""
    bias = base_rate_bias(dataset.train)
    parts = {"log_likelihood": dataset.train, "validation_log_likelihood": dataset.validation}
    parts = {metric: data for metric, data in parts.items() if len(data)}
    independent = {metric: independent_log_likelihood(data, bias) for metric, data in parts.items()}
    rows = {metric: len(data) for metric, data in parts.items()}
    rows_differ = not set(dataset.train.mean(axis=0)) <= {0.0, 1.0}
    if not (arguments.certificate and rows_differ):
        return Findings(independent, rows)
    settings = CertificateSettings(tempering=TEMPERING, models=1)
    with shown_progress("certificate", "models") as progress:
        train, held_out = np.asarray(dataset.train), np.asarray(dataset.validation)
        quantities = certificate(result.rbm, train, settings, held_out, progress)
    return Findings(independent, rows, verdict(quantities).in_words, tuple(facts(quantities)))


def certify(arguments: Namespace) -> None:
    """Print the verdict on each model of a file, and the numbers behind it."""
    computing.check_out(arguments)
    file = _file_of(arguments.model)
    settings = parse(CertificateSettings, {"tempering": TEMPERING} | arguments.settings, "--settings")
    rbm = RBM.load(file).replicas
    dataset, rows = _as_trained(_rows_for(arguments, rbm), _data_of(arguments.model), arguments.data)
    with shown_progress(file.name, "models") as progress:
        quantities = certificate(rbm, dataset.train, settings, dataset.test, progress)
    if arguments.out:
        write_csv(quantities, arguments.out)
    for trial, model_quantities in quantities.groupby("trial"):
        lines = (f"  {line}" for line in facts(model_quantities, rows))
        print(f"model {trial}: {verdict(model_quantities).in_words}", *lines, sep="\n")


def score(arguments: Namespace) -> None:
    """Print or write the log-likelihood of each row of a file under each model, and the standard error of log Z."""
    computing.check_out(arguments)
    budget = {"particles": ANNEALING.particles, "temperatures": ANNEALING.temperatures}
    settings = parse(ScoreSettings, budget | arguments.settings, "--settings")
    rbm = RBM.load(_file_of(arguments.model)).replicas.astype(np.float64)
    rows = _rows_for(arguments, rbm).train
    if is_enumerable(rbm.visible_units, rbm.hidden_units):
        log_z, errors = exact_log_partition(rbm), np.zeros(len(rbm.W))
    else:
        estimated, _ = log_partition_of(settings, rows)
        with shown_progress("log Z", "steps") as progress:
            estimate = estimated(rbm, seed=settings.seed, threads=arguments.threads, progress=progress)
        log_z, errors = estimate.log_partition, estimate.standard_error
    tables, blocks = [], np.split(rows, range(ROWS_AT_ONCE, len(rows), ROWS_AT_ONCE))
    for trial, error in enumerate(errors):
        weights = -np.concatenate([rbm[trial].free_energy(block) for block in blocks])
        values = {"trial": trial, "row": np.arange(1, len(rows) + 1)}
        values |= {"log_likelihood": normalised(weights, log_z[trial]), "standard_error": error}
        tables.append(pd.DataFrame(values))
    table = pd.concat(tables, ignore_index=True)
    if arguments.out:
        write_csv(table, arguments.out)
    else:
        print(table.to_csv(index=False), end="")
    for trial, model_rows in table.groupby("trial"):
        mean, error = model_rows["log_likelihood"].mean(), errors[trial]
        annealed = f"; log Z is annealed, standard error {error:.2g}" if error else ""
        print(f"model {trial}: mean of {len(rows)} rows: {mean:.5g} nats per row{annealed}", file=sys.stderr)


def _file_of(model: Path) -> Path:
    return model / MODEL if model.is_dir() else model


def _data_of(model: Path) -> Mapping[str, Any]:
    """Return the provenance of the data set that models were trained on; empty if it is not known."""
    folder = model if model.is_dir() else model.parent
    is_run = _file_of(model).name == MODEL and (folder / META).is_file()
    return (read_meta(folder).get("data") or {}) if is_run else {}


def _as_trained(dataset: Dataset, trained: Mapping[str, Any], file: Path) -> tuple[Dataset, str]:
    """Return the data set of a file, and the name of its rows; rows that the run has held out are test rows."""
    if trained.get("name") == "held_out":
        with suppress(RbmbenchError):
            split = REGISTRY.create("held_out", trained["options"]).split(dataset)
            if split.provenance["content_sha256"] == trained["content_sha256"]:
                return replace(split, test=split.validation), "training rows"
    is_trained = dataset.provenance["content_sha256"] == trained.get("content_sha256")
    return dataset, "training rows" if is_trained else f"rows of {file.name}"


def _rows_for(arguments: Namespace, rbm: RBM) -> Dataset:
    """Return the data set of a file for models of a run: with its columns, by their names, and its threshold.

    A libsvm file has the features of the models, also if the last are in none of its rows.
    """
    trained = _data_of(arguments.model)
    options = trained.get("options") or {}
    file_options = (options.get("options") or {}) if trained.get("name") == "held_out" else options
    columns = trained.get("columns") or ()
    names = ("threshold",) if columns else ("threshold", "drop_columns")
    recorded = {name: file_options.get(name) for name in names} if "path" in file_options else {}
    defaults = {name: value for name, value in recorded.items() if value not in (None, [])}
    if may_lack_features(arguments.data):
        left_out = defaults.get("drop_columns", ()) if arguments.drop_columns is None else arguments.drop_columns
        defaults["features"] = rbm.visible_units + len({*left_out})
    dataset = computing.read_data(arguments, columns, **defaults)
    if (columns := dataset.train.shape[1]) != rbm.visible_units:
        allowed = f"{rbm.visible_units} columns, the visible units of {_file_of(arguments.model)}"
        hint = "; --drop-columns alone leaves out none" * ("drop_columns" in defaults)
        raise DataError(f"{arguments.data}: must have {allowed}, got {columns}{hint}")
    return dataset
