# SPDX-License-Identifier: BSD-3-Clause
"""Validation of plain data with pydantic, with the first invalid value reported in one line."""

from collections.abc import Callable
from typing import Any, TypeVar, get_args

import numpy as np
from pydantic import BaseModel, ValidationError

from rbmbench.base.errors import SettingsError, unknown_name

Model = TypeVar("Model", bound=BaseModel)


def parse(model: type[Model], values: object, where: str | Callable[[tuple], str]) -> Model:
    """Return ``values`` validated as ``model``.

    Parameters
    ----------
    model : type of Settings
    values : mapping
        Plain data, as read from YAML or JSON; numbers and arrays of NumPy count as those of Python.
    where : str or callable
        The file or argument that the values come from, for the message. A callable gets the location of a key (a tuple
        of names and indices), for values merged from several files.

    Raises
    ------
    SettingsError
        If a value is invalid; names ``where``, the key, what was found and what is allowed.
    """
    values = _plain(values)
    try:
        return model.model_validate(values)
    except ValidationError as failure:
        error = failure.errors()[0]
        location = _location(values, error["loc"])
        key = ".".join(str(step) for step in location) or "settings"
        where = where(location) if callable(where) else where
        if error["type"] == "extra_forbidden":
            allowed = _fields_at(model, values, location[:-1])
            what = unknown_name("key", location[-1], allowed) if allowed else "unknown key"
            raise SettingsError(f"{where}: {key}: {what}") from None
        if error["type"] == "missing":
            value = "nothing"
        elif isinstance(error["input"], dict | list):
            value = f"a {type(error['input']).__name__}"
        else:
            value = repr(error["input"])
        message = "should be a list" if error["type"] == "tuple_type" else error["msg"].removeprefix("Value error, ")
        # Our own validators of several values name what they found in the message.
        own = error["type"] == "value_error" and isinstance(error["input"], dict | list)
        prefix = "" if own else f"found {value}; "
        raise SettingsError(f"{where}: {key}: {prefix}{message[:1].lower()}{message[1:]}") from None


def _plain(values: Any) -> Any:
    if isinstance(values, np.generic | np.ndarray):
        return values.tolist()
    if isinstance(values, dict):
        return {name: _plain(value) for name, value in values.items()}
    return type(values)(map(_plain, values)) if type(values) in (list, tuple) else values


def _location(values: object, location: tuple) -> tuple:
    """Return a location in ``values`` without the tags that pydantic inserts for members of a union."""
    kept = []
    for number, step in enumerate(location, start=1):
        if number < len(location) and isinstance(values, dict) and step not in values:
            continue
        kept.append(step)
        values = _part(values, step)
    return tuple(kept)


def _part(values: Any, step: object) -> Any:
    try:
        return values[step]
    except (KeyError, IndexError, TypeError):
        return None


def _fields_at(model: type[BaseModel], values: object, location: tuple) -> list[str]:
    """Return the field names of the model at ``location`` inside ``model``, or [] if there is none."""
    candidates = [model]
    for step in location:
        fields = _of_kind(candidates, values).model_fields
        values = _part(values, step)
        if isinstance(step, str) and step in fields:
            candidates = _models_in(fields[step].annotation)
            if not candidates:
                return []
    return list(_of_kind(candidates, values).model_fields)


def _of_kind(candidates: list[type[BaseModel]], values: object) -> type[BaseModel]:
    """Return the candidate whose ``kind`` matches the values, else the first."""
    kind = _part(values, "kind")
    fields = ((candidate, candidate.model_fields.get("kind")) for candidate in candidates)
    return next((model for model, field in fields if field and kind in get_args(field.annotation)), candidates[0])


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in getattr(annotation, "__args__", ()) for model in _models_in(argument)]
