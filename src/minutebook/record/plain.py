"""Values, records and errors as plain JSON, and as values again by the annotations of a class."""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from minutebook.record import errors, records
from minutebook.record.errors import MinutebookError
from minutebook.record.records import Record

CLASS = "class"
"""The key under which a record says of which class it is."""

Read = Callable[[Any], Any]

_LONGEST = 2_000
"""Characters kept of a text in an error."""

_LEAST, _MOST = -(2**63), 2**63 - 1
"""The whole numbers that a database keeps."""


def plain(value: object) -> Any:
    """Return a value as plain JSON: a dataclass as an object of its fields, a record also with its class."""
    match value:
        case Enum():
            return value.value
        case None | bool() | int() | float() | str():
            return value
        case datetime():
            return value.astimezone(UTC).isoformat()
        case MinutebookError():
            facts = {each.name: _error_field(getattr(value, each.name)) for each in fields(value)}
            return {"name": type(value).__name__, **facts}
        case Mapping():
            return {str(plain(name)): plain(each) for name, each in value.items()}
        case Collection():
            return [plain(each) for each in value]
    if not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} has no form in JSON")
    named = {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    return {CLASS: type(value).__name__, **named} if isinstance(value, Record) else named


def _error_field(value: object) -> Any:
    has_plain_form = isinstance(value, int | datetime | tuple | MinutebookError | None)
    return plain(value) if has_plain_form else str(value)[:_LONGEST]


def error_of(written: object) -> MinutebookError | None:
    """Return the error that `plain` wrote; None if it is not the form of a known one."""
    name = written.get("name") if isinstance(written, dict) else None
    error_class: Any = getattr(errors, str(name), None)
    is_error = isinstance(error_class, type) and issubclass(error_class, MinutebookError)
    if not is_error:
        return None
    try:
        error: MinutebookError = _read_fields(error_class)(written)
    except (TypeError, ValueError):
        return None
    return error


def value_of(annotation: Any, written: Any) -> Any:
    """Return the value that `plain` wrote. Raises TypeError or ValueError if it does not fit the annotation."""
    return reader_of(annotation)(written)


@lru_cache(maxsize=512)
def reader_of(annotation: Any) -> Read:
    """Return the reader of an annotation's values from plain JSON; it raises TypeError or ValueError for any other."""
    origin, arguments = get_origin(annotation) or annotation, get_args(annotation)
    if origin in (Union, UnionType):
        return _read_one_of(arguments)
    if origin in (object, Any):
        return lambda written: written
    if origin is NoneType:
        return lambda written: None
    if origin is tuple and arguments[-1:] != (...,):
        return _read_fixed(arguments)
    if issubclass(origin, Mapping):
        return _read_mapping(*arguments)
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
        return _read_each(make, reader_of(arguments[0]))
    return _read_fields(origin)


def _read_one_of(annotations: Sequence[Any]) -> Read:
    """Return the reader for a value that may be None, or a record of one of several classes."""
    first, *others = (reader_of(each) for each in annotations if each is not NoneType)
    if any(each is not first for each in others):
        raise TypeError(f"nothing tells values of {annotations} apart")
    return lambda written: None if written is None else first(written)


def _read_instant(written: Any) -> datetime:
    read = datetime.fromisoformat(written)
    if read.tzinfo is None:
        raise ValueError(written)
    try:
        return read.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(written) from error


def _read_error(written: Any) -> MinutebookError:
    error = error_of(written)
    if error is None:
        raise ValueError(written)
    return error


def _read_simple(type_: type) -> Read:
    def read(written: Any) -> Any:
        is_text = issubclass(type_, str) and isinstance(written, str)
        is_whole_float = type_ is float and type(written) is int
        if not (is_text or type(written) is type_ or is_whole_float):
            raise TypeError(written)
        if type_ is int and not _LEAST <= written <= _MOST:
            raise ValueError(written)
        if type_ is float and not abs(written) <= sys.float_info.max:
            raise ValueError(written)
        return type_(written)

    return read


def _read_each(make: Callable[[Any], Any], read: Read) -> Read:
    def read_all(written: Any) -> Any:
        if not isinstance(written, list):
            raise TypeError(written)
        return make(map(read, written))

    return read_all


def _read_fixed(annotations: Sequence[Any]) -> Read:
    readers = [reader_of(each) for each in annotations]
    return lambda written: tuple(read(each) for read, each in zip(readers, written, strict=True))


def _read_mapping(key: Any, value: Any) -> Read:
    """Return the reader of an object; `key` and `value` are annotations."""
    read_key, read_value = reader_of(key), reader_of(value)

    def read(written: Any) -> Any:
        if not isinstance(written, dict):
            raise TypeError(written)
        return {read_key(name): read_value(each) for name, each in written.items()}

    return read


def _read_record(written: Any) -> Record:
    record_class: Any = getattr(records, str(written[CLASS]), None)
    if record_class is None or not issubclass(record_class, Record):
        raise ValueError(written[CLASS])
    record: Record = _read_fields(record_class)(written)
    return record


@lru_cache(maxsize=512)
def _read_fields(dataclass: Any) -> Read:
    """Return the reader of a dataclass. A missing field has its default; an unknown one is left out."""
    hints = get_type_hints(dataclass)
    readers = {each.name: reader_of(hints[each.name]) for each in fields(dataclass) if each.init}
    needed = {
        each.name
        for each in fields(dataclass)
        if each.default is MISSING and each.default_factory is MISSING
    }

    def read(written: Any) -> Any:
        if not isinstance(written, dict) or needed - written.keys():
            raise TypeError(written)
        return dataclass(
            **{name: read(written[name]) for name, read in readers.items() if name in written}
        )

    return read
