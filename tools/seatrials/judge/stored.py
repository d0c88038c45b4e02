"""Frozen dataclasses as plain JSON data and back; what does not fit their types is refused."""

import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
Reader = Callable[[Any], Any]


def encode(value: Any) -> Any:
    """Return a dataclass as the list of its fields' values, at any depth; tuples become lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return [encode(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    return value


def decode(kind: type[T], data: Any) -> T:
    """Return what `encode` took apart; raises ValueError for anything else."""
    hint: Any = kind
    value: T = _reader(hint)(data)
    return value


@cache
def _reader(hint: Any) -> Reader:
    """Return the function that reads values of a type, of those that the reports are made of."""
    if is_dataclass(hint):
        return _dataclass_reader(hint)
    arguments = get_args(hint)
    match get_origin(hint):
        case origin if origin is Literal:
            return lambda data: _checked(data, isinstance(data, str) and data in arguments)
        case origin if origin in {Union, types.UnionType} and arguments[1:] == (types.NoneType,):
            inner = _reader(arguments[0])
            return lambda data: None if data is None else inner(data)
        case origin if origin is tuple and arguments[1:] == (...,):
            inner = _reader(arguments[0])
            return lambda data: tuple(map(inner, _checked(data, isinstance(data, list))))
        case origin if origin is Mapping and arguments[0] is str:
            inner = _reader(arguments[1])
            return lambda data: {
                key: inner(item) for key, item in _checked(data, isinstance(data, dict)).items()
            }
    if hint in {str, int, bool}:
        return lambda data: _checked(data, type(data) is hint)
    raise TypeError(f"no reader for {hint}")


def _dataclass_reader(kind: Any) -> Reader:
    hints = get_type_hints(kind)
    readers = [(field.name, _reader(hints[field.name])) for field in fields(kind)]

    def read(data: Any) -> Any:
        _checked(data, isinstance(data, list) and len(data) == len(readers))
        return kind(**{name: reader(item) for (name, reader), item in zip(readers, data, strict=True)})

    return read


def _checked(data: Any, good: bool) -> Any:
    if not good:
        raise ValueError(f"not what was stored: {data!r:.80}")
    return data
