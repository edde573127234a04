# SPDX-License-Identifier: BSD-3-Clause
"""Settings of a run from plain arguments: one estimator, one update rule and one learning rate, or a schedule."""

from collections.abc import Mapping

from rbmbench import estimators
from rbmbench.base.errors import SYNONYMS, SettingsError, unknown_name
from rbmbench.base.parsing import parse
from rbmbench.base.settings import RunSettings

OF_A_STAGE = ("iterations", "estimator", "options", "update", "rate")  # arguments that describe a run of a single stage
OF_RUNS = ("threads", "backend", "progress", "validation", "test")  # arguments of `rbmbench.train` that are no settings


def settings_from(arguments: Mapping[str, object], data: Mapping[str, object], where: str) -> RunSettings:
    """Return the checked settings of a run.

    Parameters
    ----------
    arguments : mapping
        Fields of `RunSettings`, and those of a stage: iterations, estimator ("cd") with its options, or the settings of
        an estimator, update ("sgd") in the same way, rate (0.1). Those that are None count as not given.
    data : mapping
        Name and options of the data set.
    where : str
        Name of the function or command, for messages.

    Raises
    ------
    SettingsError
        If an argument is unknown, missing or not allowed, or both a schedule and arguments of a stage are given.
    """
    values = {name: value for name, value in arguments.items() if value is not None}
    stage = {name: values.pop(name) for name in OF_A_STAGE if name in values}
    if unknown := [name for name in values if name not in RunSettings.model_fields or name == "data"]:
        raise SettingsError(f"{where}: {_unknown_argument(unknown[0], values[unknown[0]], stage)}")
    if "schedule" not in values:
        values["schedule"] = [_stage(stage, where)]
    elif stage:
        raise SettingsError(
            f"{where}: must be either a schedule, each stage with its own until, estimator, update and rate, "
            f"or {', '.join(OF_A_STAGE)}, got a schedule and {', '.join(stage)}"
        )
    return parse(RunSettings, values | {"data": data}, where)


def _stage(stage: dict[str, object], where: str) -> dict[str, object]:
    if "iterations" not in stage:
        raise SettingsError(f"{where}: iterations: must be an integer >= 1, or a schedule must be given")
    estimator, update = stage.get("estimator", "cd"), stage.get("update", "sgd")
    if isinstance(estimator, str):
        estimator = {"name": estimator, "options": stage.get("options", {})}
    elif "options" in stage:
        raise SettingsError(f"{where}: options: must be part of the settings of the estimator")
    update = {"name": update} if isinstance(update, str) else update
    return {"until": stage["iterations"], "estimator": estimator, "update": update, "rate": stage.get("rate", 0.1)}


def _unknown_argument(name: str, value: object, stage: Mapping[str, object]) -> str:
    """Return the message for an unknown argument, which may be an option of the estimator."""
    estimator = stage.get("estimator", "cd")
    estimator = estimator.get("name") if isinstance(estimator, Mapping) else getattr(estimator, "name", estimator)
    if estimator in estimators.REGISTRY.names():
        options, option = estimators.REGISTRY.options(estimator), SYNONYMS.get(name, name)
        if option in options:
            use = f"options={{{option!r}: {value!r}}}"
            return f"unknown argument {name!r}; it is an option of the estimator {estimator!r}: {use}"
    fields = [field for field in RunSettings.model_fields if field != "data"]
    return unknown_name("argument", name, {*fields, *OF_A_STAGE, *OF_RUNS})
