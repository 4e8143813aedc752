"""Values as plain JSON, and as values again by the annotations of a class."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from minutebook.domain import records
from minutebook.domain.error_facts import error_of, facts_of
from minutebook.domain.errors import MinutebookError
from minutebook.domain.records import Record

CLASS = "class"
"""The key under which a record says of which class it is."""

Read = Callable[[Any], Any]


def plain(value: object) -> Any:
    """Return a value as JSON writes it: of a dataclass its fields by name, of a record its class, too."""
    match value:
        case Enum():
            return value.value
        case None | bool() | int() | float() | str():
            return value
        case datetime():
            return value.astimezone(UTC).isoformat()
        case MinutebookError():
            return facts_of(value)
        case Mapping():
            return {str(plain(name)): plain(each) for name, each in value.items()}
        case Collection():
            return [plain(each) for each in value]
    if not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} has no form in JSON")
    named = {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    return {CLASS: type(value).__name__, **named} if isinstance(value, Record) else named


def value_of(annotation: Any, written: Any) -> Any:
    """Return the value that `plain` wrote. Raises TypeError or ValueError if it is none of the annotation's."""
    return _reader(annotation)(written)


@lru_cache(maxsize=512)
def _reader(annotation: Any) -> Read:
    """Return the reader for values of an annotation."""
    origin, of = get_origin(annotation) or annotation, get_args(annotation)
    if origin in (Union, UnionType):
        return _read_one_of(of)
    if origin in (object, Any):
        return lambda written: written
    if origin is NoneType:
        return _read_none
    if origin is tuple and of[-1:] != (...,):
        return _read_fixed(of)
    if issubclass(origin, Mapping):
        return _read_mapping(*of)
    if issubclass(origin, datetime):
        return _read_instant
    if issubclass(origin, Enum):
        return lambda written: origin(written)
    if issubclass(origin, str | bool | int | float):
        return _read_simple(origin)
    if issubclass(origin, MinutebookError):
        return _read_error
    if issubclass(origin, Record):
        return _read_record
    if issubclass(origin, Collection):
        make = list if origin in (Sequence, Collection) else origin
        return _read_each(make, _reader(of[0]))
    return _read_fields(origin)


def _read_one_of(annotations: Sequence[Any]) -> Read:
    """Return the reader for a value that may be None, or a record of one of several classes."""
    first, *others = (_reader(each) for each in annotations if each is not NoneType)
    if any(each is not first for each in others):
        raise TypeError(f"nothing tells values of {annotations} apart")
    return lambda written: None if written is None else first(written)


def _read_none(written: Any) -> None:
    if written is not None:
        raise TypeError(written)


def _read_instant(written: Any) -> datetime:
    return datetime.fromisoformat(written)


def _read_error(written: Any) -> MinutebookError:
    error = error_of(written)
    if error is None:
        raise ValueError(written)
    return error


def _read_simple(of: type) -> Read:
    def read(written: Any) -> Any:
        is_fitting = type(written) is of or (of is float and type(written) is int)
        if not is_fitting:
            raise TypeError(written)
        return of(written)

    return read


def _read_each(make: Callable[[Any], Any], read: Read) -> Read:
    def read_all(written: Any) -> Any:
        if not isinstance(written, list):
            raise TypeError(written)
        return make(map(read, written))

    return read_all


def _read_fixed(annotations: Sequence[Any]) -> Read:
    readers = [_reader(each) for each in annotations]

    def read(written: Any) -> Any:
        return tuple(read(each) for read, each in zip(readers, written, strict=True))

    return read


def _read_mapping(of_keys: Any, of_values: Any) -> Read:
    read_key, read_value = _reader(of_keys), _reader(of_values)

    def read(written: Any) -> Any:
        if not isinstance(written, dict):
            raise TypeError(written)
        return {read_key(name): read_value(each) for name, each in written.items()}

    return read


def _read_record(written: Any) -> Record:
    of: Any = getattr(records, str(written[CLASS]), None)
    if of is None or not issubclass(of, Record):
        raise ValueError(written[CLASS])
    record: Record = _read_fields(of)(written)
    return record


@lru_cache(maxsize=512)
def _read_fields(of: Any) -> Read:
    """Return the reader of a dataclass. A missing field has its default; an unknown one is left out."""
    hints = get_type_hints(of)
    readers = {each.name: _reader(hints[each.name]) for each in fields(of) if each.init}
    needed = {
        each.name
        for each in fields(of)
        if each.default is MISSING and each.default_factory is MISSING
    }

    def read(written: Any) -> Any:
        if not isinstance(written, dict) or needed - written.keys():
            raise TypeError(written)
        return of(
            **{name: read(written[name]) for name, read in readers.items() if name in written}
        )

    return read
