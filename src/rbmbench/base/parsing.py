# SPDX-License-Identifier: BSD-3-Clause
"""Validation of plain data with pydantic, with the first invalid value reported in one line."""

import re
from collections.abc import Callable
from typing import Any, TypeVar, get_args

import numpy as np
from pydantic import BaseModel, ValidationError

from rbmbench.base.errors import SettingsError, unknown_name

Model = TypeVar("Model", bound=BaseModel)


def parse(model: type[Model], values: object, where: str | Callable[[tuple], str]) -> Model:
    """Return plain data, as read from YAML or JSON, validated as ``model``; numbers and arrays may be NumPy's.

    ``where`` is the file or argument that the values come from, or for values of several files a function that returns
    it for the location of a key, a tuple of names and indices. Raises a `SettingsError` for the first invalid value
    that names ``where``, the key, the value and the allowed ones.
    """
    values = plain(values)
    try:
        return model.model_validate(values)
    except ValidationError as failure:
        error = failure.errors()[0]
        location = _location(values, error["loc"])
        key = ".".join(str(step) for step in location) or "settings"
        where = where(location) if callable(where) else where
        if error["type"] == "extra_forbidden":
            allowed = _fields_at(model, values, location[:-1])
            reason = unknown_name("key", location[-1], allowed) if allowed else "unknown key"
            raise SettingsError(f"{where}: {key}: {reason}") from None
        if error["type"] == "missing":
            raise SettingsError(f"{where}: {key}: is missing") from None
        if error["type"] == "union_tag_not_found":
            raise SettingsError(f"{where}: {key}: must have a kind, or the key of an entry that has one") from None
        if isinstance(error["input"], dict | list):
            value = f"a {type(error['input']).__name__}"
        else:
            value = repr(error["input"])
        message = re.sub(r"^\w+ should", "must", error["msg"].removeprefix("Value error, "))
        message = "must be a list" if error["type"] == "tuple_type" else message.partition(", unable to parse")[0]
        # The validators of this package that check several values name the wrong one in the message.
        complete = error["type"] == "value_error" and (isinstance(error["input"], dict | list) or ", got " in message)
        raise SettingsError(f"{where}: {key}: {message}{'' if complete else f', got {value}'}") from None


def plain(values: Any) -> Any:
    """Return values with numbers and arrays of NumPy as those of Python, also inside mappings, lists and tuples."""
    if isinstance(values, np.generic | np.ndarray):
        return values.tolist()
    if isinstance(values, dict):
        return {name: plain(value) for name, value in values.items()}
    return type(values)(map(plain, values)) if type(values) in (list, tuple) else values


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
    """Return the keys of the model at ``location`` inside ``model``, or [] if there is none."""
    candidates = [model]
    for step in location:
        fields = _of_kind(candidates, values).model_fields
        values = _part(values, step)
        if isinstance(step, str) and step in fields:
            candidates = _models_in(fields[step].annotation)
            if not candidates:
                return []
    return [field.alias or name for name, field in _of_kind(candidates, values).model_fields.items()]


def _of_kind(candidates: list[type[BaseModel]], values: object) -> type[BaseModel]:
    """Return the candidate whose ``kind`` matches the values, else the first."""
    kind = _part(values, "kind")
    fields = ((candidate, candidate.model_fields.get("kind")) for candidate in candidates)
    return next((model for model, field in fields if field and kind in get_args(field.annotation)), candidates[0])


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in getattr(annotation, "__args__", ()) for model in _models_in(argument)]
