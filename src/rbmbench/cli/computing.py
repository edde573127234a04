# SPDX-License-Identifier: BSD-3-Clause
"""The subcommands that compute the jobs of `rbmbench.jobs`, and `train` with single arguments."""

import os
import shlex
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from rbmbench import datasets, jobs
from rbmbench.base.errors import SettingsError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import RunSettings, Settings
from rbmbench.cli.parser import ONE_STAGE, checkpoint_seconds, parser, plain_data
from rbmbench.cli.progress import shown_progress
from rbmbench.cli.stopping import StopSignals
from rbmbench.datasets.user_file import ending
from rbmbench.io import provenance, results
from rbmbench.io.atomic import writable
from rbmbench.io.layout import RUNS, Layout
from rbmbench.kernels import backends, ways
from rbmbench.training import fused
from rbmbench.training.arguments import settings_from

Item = TypeVar("Item")

USUAL_BATCH = 100
USUAL_SHARE, LEAST_ROWS = 0.1, 100  # share of the rows that is held out, and least number of rows for that


def compute(arguments: Namespace) -> None:
    """Compute a job of a kind."""
    kind = jobs.of_name(arguments.kind.replace("-", "_"))
    missing = [name for name in kind.inputs if getattr(arguments, name) is None]
    if missing:
        raise SettingsError(f"{arguments.kind}: {_argument(missing)} must be given, got nothing")
    task = task_of(arguments, _settings(kind.Settings, arguments))
    if getattr(arguments, "blocks", None):
        with task.owned(kind.files), task.stoppable(task.out.name):
            kind.gather(task, arguments.blocks)
    else:
        kind.compute(task)


def evaluate(arguments: Namespace) -> None:
    """Evaluate the snapshots of a run, or again those of existing evaluations with some settings changed.

    They are then written to folders with the names that the workflow gives to evaluations with these settings.
    """
    from rbmbench.planning.jobs import digest_of

    if not arguments.again:
        compute(arguments)
        return
    if arguments.checkpoint:
        raise SettingsError("--checkpoint: must be without --again, which writes one beside each output")
    kind, (changes, place) = jobs.of_name("evaluate"), _plain_settings(arguments)
    if not isinstance(changes, dict):
        raise SettingsError(f"{place}: must be a mapping, got {changes!r}")
    _check_start(arguments)
    tasks = []
    for folder in arguments.again:
        meta, layout = results.read_meta(folder), Layout(str(folder.absolute().parent.parent))
        if "evaluation" not in meta:
            raise SettingsError(f"--again: must be folders of evaluations, got {folder}, which is none")
        settings = parse(kind.Settings, meta["evaluation"]["settings"] | changes, place)
        name = f"{folder.absolute().name.rpartition('-')[0]}-{digest_of(meta['run'], settings.canonical())}"
        # Ids of runs begin with the key of their data, which may differ from the name of the data set.
        files = {"model": layout.job(RUNS, meta["run"]), "data": layout.data_set(meta["run"].partition("-")[0])}
        values = {key: getattr(arguments, key) or Path(path) for key, path in files.items()}
        values |= {"out": arguments.out / name, "checkpoint": arguments.out / f"{name}.checkpoint.npz"}
        tasks.append(task_of(Namespace(**vars(arguments) | values), settings))
    for task in _one_by_one(tasks):
        kind.compute(task)


def bundle(arguments: Namespace) -> None:
    """Compute several jobs, one after the other; imports count for the first."""
    job_parser = parser()
    for job in _one_by_one(arguments.jobs):
        compute(job_parser.parse_args(shlex.split(job)))


def _one_by_one(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the inputs of several computations; time and memory are counted anew for each after the first."""
    for number, item in enumerate(items):
        if number:
            provenance.restart()
        yield item


def train(arguments: Namespace) -> None:
    """Train all trials of one run, and write its curve, models and meta."""
    settings, dataset = run_of(arguments)
    jobs.of_name("train").compute(task_of(arguments, settings), dataset)


def task_of(arguments: Namespace, settings: Settings) -> jobs.Task:
    """Return the task of the arguments of a subcommand."""
    names = ("out", "data", "model", "checkpoint", "checkpoint_seconds", "threads", "scale", "backend")
    names += ("run_id", "block")
    values = {name: value for name in names if (value := getattr(arguments, name, None)) is not None}
    if "checkpoint_seconds" not in values:
        values["checkpoint_seconds"] = checkpoint_seconds()
    needs, watch = tuple(getattr(arguments, "needs", None) or ()), partial(shown_progress, value="mean log-likelihood")
    return jobs.Task(settings, needs=needs, signals=StopSignals(), watch=watch, **values)


def run_of(arguments: Namespace) -> tuple[RunSettings, datasets.Dataset]:
    """Return the settings of a run, from --settings or from single arguments, and its data set."""
    names = [argument.removeprefix("--").replace("-", "_") for argument in ONE_STAGE]
    values = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    if arguments.settings:
        if values:
            raise SettingsError(f"--settings: must be without {_argument(values)}")
        settings, dataset = _settings(RunSettings, arguments), read_data(arguments)
        if settings.data.name == "held_out" != dataset.name:  # the whole file of a run of `fit`
            dataset = datasets.REGISTRY.create("held_out", settings.data.options).split(dataset)
        return settings, dataset
    for name in ("hidden", "iterations"):
        if name not in values:
            raise SettingsError(f"{_argument([name])}: must be an integer >= 1, or --settings must be given")
    _check_start(arguments)
    dataset = _with_held_out(arguments, read_data(arguments, sparse=True))
    if hasattr(arguments, "validation") and len(dataset.validation):
        values["validation_likelihood"] = True
    if patience := getattr(arguments, "patience", None):
        if not len(dataset.validation):
            raise SettingsError("--patience: must be with held-out rows (--validation SHARE), got none")
        values["patience"] = patience
    options = values.pop("options", {})
    if "k" in values:
        if "k" in options:
            raise SettingsError(f"--k: must be without 'k' in --options, got {values['k']} and {options['k']}")
        options |= {"k": values.pop("k")}
    values = {"batch": min(USUAL_BATCH, len(dataset.train)), "options": options} | values
    data = {"name": dataset.name, "options": dataset.provenance["options"]}
    return settings_from(values, data, "train"), dataset


def read_data(
    arguments: Namespace, columns: Sequence[str] = (), sparse: bool = False, **usual: object
) -> datasets.Dataset:
    """Return the data set of a file, one of the user with options, by default ``usual``.

    For the other arguments see `rbmbench.datasets.read_file`.
    """
    if arguments.array and ending(arguments.data) != ".npz":
        raise SettingsError(f"--array: must be with an .npz file, got {arguments.data}")
    named = {"key": arguments.array}
    named |= {name: getattr(arguments, name) for name in ("drop_columns", "threshold", "features")}
    options = usual | {name: value for name, value in named.items() if value is not None}
    return datasets.read_file(arguments.data, columns, sparse, **options)


def _with_held_out(arguments: Namespace, dataset: datasets.Dataset) -> datasets.Dataset:
    """Return the data set with the share --validation of its training rows held out, at random.

    By default it is a tenth of at least 100 rows, unless the data set has validation rows.
    """
    share, rows = getattr(arguments, "validation", 0.0), len(dataset.train)
    if share is None:
        is_whole = dataset.name != "held_out" and not len(dataset.validation)
        share = USUAL_SHARE if rows >= LEAST_ROWS and is_whole else 0.0
    if not share:
        return dataset
    if not 0 < (count := round(share * rows)) < rows:
        raise SettingsError(f"--validation: must leave some of the {rows} rows on both sides, got {share}")
    options = {"data": dataset.name, "options": dataset.provenance["options"], "validation": count, "test": 0}
    return datasets.REGISTRY.create("held_out", options | {"seed": arguments.seed or 0}).split(dataset)


def _argument(names: Iterable[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


def check_out(arguments: Namespace) -> None:
    """Refuse a file to write that cannot be written, before anything is computed."""
    if arguments.out:
        results.check_writable(writable(arguments.out).parent)


def check_environment() -> None:
    """Refuse wrong values of environment variables, with which jobs fail, and fingerprints are unknown."""
    backends.check_name(os.environ.get("RBMBENCH_BACKEND") or "auto", "RBMBENCH_BACKEND")
    fused.check_switch()
    ways.check_switch()
    checkpoint_seconds()


def _check_start(arguments: Namespace) -> None:
    """Check the switches of the code and the output folder, and record the commit; options override other variables."""
    fused.check_switch()
    ways.check_switch()
    results.check_writable(arguments.out)
    provenance.commit()


def _settings(model: type[Settings], arguments: Namespace) -> Any:
    """Return the checked settings; make the checks before the start."""
    settings = parse(model, *_plain_settings(arguments))
    _check_start(arguments)
    return settings


def _plain_settings(arguments: Namespace) -> tuple[Any, str]:
    """Return --settings, a JSON text or the name of a JSON file, and its place for errors."""
    text = arguments.settings
    if text.lstrip().startswith("{"):
        return plain_data("--settings", text), "--settings"
    return results.read_json(text), text
