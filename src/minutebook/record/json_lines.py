"""Records as lines of JSON: each field is written and read by its annotation."""

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import datetime
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, NoReturn, Union, get_args, get_origin, get_type_hints

from minutebook.record.errors import InvalidInput
from minutebook.record.origin import Origin
from minutebook.record.plain import plain, reader_of, value_of
from minutebook.record.reason import Reason, must_be_one_of
from minutebook.record.records import (
    CLASSES,
    MOST_SCORE,
    SCORES,
    Kind,
    Memory,
    Record,
    Summary,
    Turn,
)
from minutebook.record.writing.metadata import check_content, check_metadata
from minutebook.record.writing.turns import check_session


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a record: the reader of its JSON value, and in `wanted` the kind of value, in words."""

    name: str
    is_nullable: bool
    has_default: bool
    read: Callable[[Any], Any]
    wanted: str


def line_of(record: Record) -> bytes:
    """Write a record as a line: its kind, then its fields by name, those that are None left out.

    Text that UTF-8 cannot hold (a lone surrogate) is written as escapes.
    """
    document: dict[str, object] = {"kind": record.kind}
    for field in _FORMS[record.kind]:
        value = getattr(record, field.name)
        if value is not None:
            document[field.name] = value.parts if isinstance(value, Origin) else plain(value)
    return json_line(document)


def json_line(document: Mapping[str, object]) -> bytes:
    """Write an object as one line of JSON."""
    try:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(document, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def object_of(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line. Raises InvalidInput if the line is not one."""
    try:
        document = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("line", "must be one JSON object") from error
    if not isinstance(document, dict):
        raise InvalidInput("line", "must be one JSON object")
    return document


def record_of(document: Mapping[str, Any]) -> Record:
    """Return the record that a line describes.

    Raises InvalidInput, naming the field, if one is missing, unknown or of another type.
    """
    try:
        kind = Kind(document["kind"])
        form = _FORMS[kind]
    except (KeyError, ValueError) as error:
        raise InvalidInput("kind", must_be_one_of(sorted(_FORMS))) from error
    unknown = document.keys() - {field.name for field in form} - {"kind"}
    if unknown:
        raise InvalidInput(min(unknown), "is no field of a {kind}", kind=kind)
    read: dict[str, Any] = {}
    for field in form:
        if field.name in document:
            try:
                read[field.name] = field.read(document[field.name])
            except (TypeError, ValueError) as error:
                raise InvalidInput(field.name, "must be {wanted}", wanted=field.wanted) from error
        elif field.is_nullable:
            read[field.name] = None
        elif not field.has_default:
            raise InvalidInput(field.name, "must be given: a {kind} has one", kind=kind)
    return CLASSES[kind](**read)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _described(record: type[Record]) -> tuple[_Field, ...]:
    hints = get_type_hints(record)
    described = []
    for each in fields(record):
        annotation, is_nullable = hints[each.name], False
        if get_origin(annotation) in (Union, UnionType):
            is_nullable = True
            (annotation,) = (part for part in get_args(annotation) if part is not NoneType)
        has_default = each.default is not MISSING or each.default_factory is not MISSING
        read = _origin if annotation is Origin else reader_of(annotation)
        described.append(_Field(each.name, is_nullable, has_default, read, _wanted(annotation)))
    return tuple(described)


def _wanted(annotation: Any) -> str:
    """Return the kind of value that an annotation asks for, in words for an error."""
    origin = get_origin(annotation) or annotation
    if issubclass(origin, StrEnum):
        return f"one of {', '.join(origin)}"
    if issubclass(origin, Mapping):
        return "an object with fitting values"
    return _WANTED[origin]


_WANTED = {
    datetime: "an instant such as 2026-01-06T12:00:00+00:00",
    str: "a text",
    float: "a number",
    int: "a whole number",
    tuple: "a list of texts",
    Origin: f"an object of texts: {', '.join(each.name for each in fields(Origin))}",
}


def _origin(value: Any) -> Origin:
    return Origin.from_parts(value_of(Mapping[str, str], value))


_FORMS = {kind: _described(each) for kind, each in CLASSES.items()}


def version_refused(supported: int) -> Reason:
    """Return why a file of another version of the format than `supported` is not read, and the remedy."""
    return Reason(
        "must be {version}: a later version of Minutebook wrote this file, so upgrade this one; or a version "
        "before the first release did, and none since reads it",
        version=supported,
    )


def check_sound(record: Record) -> None:
    """Raise InvalidInput if a record breaks a limit: on a memory's text and metadata, a session's name, a summary's numbers."""
    if isinstance(record, Memory):
        check_content(record.content)
        check_metadata(record.metadata)
    if isinstance(record, Turn | Summary):
        check_session(record.session)
    if not isinstance(record, Summary):
        return
    for name in SCORES:
        if not 0 <= getattr(record, name) <= MOST_SCORE:
            raise InvalidInput(name, "must be in 0..{most}", most=MOST_SCORE)
    if record.turn_count < 0:
        raise InvalidInput("turn_count", "must not be negative")
