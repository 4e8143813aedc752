"""Records as lines of JSON: each field is written and read by its annotation."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, NoReturn, Union, get_args, get_origin, get_type_hints

from minutebook.domain.errors import InvalidInput
from minutebook.domain.origin import Origin
from minutebook.domain.reason import Reason, must_be_one_of
from minutebook.domain.records import (
    CLASSES,
    MOST_SCORE,
    SCORES,
    Kind,
    Memory,
    Record,
    Summary,
    Turn,
)
from minutebook.domain.writing.metadata import check_content, check_metadata
from minutebook.domain.writing.turns import check_session

_LEAST, _MOST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a record: how a JSON value becomes it, and its default."""

    name: str
    is_nullable: bool
    has_default: bool
    read: Callable[[Any], Any]
    wanted: str


def line_of(record: Record) -> bytes:
    """Write a record as a line: its kind, then its fields by name, those that are None left out.

    Text that UTF-8 cannot hold is written as escapes.
    """
    document: dict[str, object] = {"kind": record.kind}
    for field in _FORMS[record.kind]:
        value = getattr(record, field.name)
        if value is not None:
            document[field.name] = _plain(value)
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
            read[field.name] = _read(field, document[field.name])
        elif field.is_nullable:
            read[field.name] = None
        elif not field.has_default:
            raise InvalidInput(field.name, "must be given: a {kind} has one", kind=kind)
    return CLASSES[kind](**read)


def _read(field: _Field, value: Any) -> Any:
    try:
        return field.read(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(field.name, "must be {wanted}", wanted=field.wanted) from error


def _plain(value: object) -> object:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat()
        case Mapping():
            return dict(value)
        case Origin():
            return value.parts
        case _:
            return value


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
        described.append(_Field(each.name, is_nullable, has_default, *_reader(annotation)))
    return tuple(described)


def _reader(annotation: Any) -> tuple[Callable[[Any], Any], str]:
    """Choose how values of an annotated type are read; the reader raises for any other."""
    origin = get_origin(annotation) or annotation
    if origin is datetime:
        return _instant, "an instant such as 2026-01-06T12:00:00+00:00"
    if issubclass(origin, StrEnum):
        return origin, f"one of {', '.join(origin)}"
    if issubclass(origin, str):
        return _text, "a text"
    if issubclass(origin, float):
        return _number, "a number"
    if issubclass(origin, int):
        return _whole, "a whole number"
    if issubclass(origin, tuple):
        return _texts, "a list of texts"
    if issubclass(origin, Origin):
        return _origin, f"an object of texts: {', '.join(each.name for each in fields(Origin))}"
    if issubclass(origin, Mapping):
        of = get_args(annotation)[1]
        return _mapping(None if of is object else _reader(of)[0]), "an object with fitting values"
    raise TypeError(f"no line can hold {annotation!r}")


def _instant(value: Any) -> datetime:
    read = datetime.fromisoformat(_text(value))
    if read.tzinfo is None:
        raise ValueError(value)
    return read.astimezone(UTC)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(value)
    return float(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not _LEAST <= value <= _MOST:
        raise TypeError(value)
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(value)
    return tuple(map(_text, value))


def _origin(value: Any) -> Origin:
    if not isinstance(value, dict):
        raise TypeError(value)
    return Origin.of({name: _text(text) for name, text in value.items()})


def _mapping(read: Callable[[Any], Any] | None) -> Callable[[Any], Mapping[str, Any]]:
    def reader(value: Any) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise TypeError(value)
        return value if read is None else {name: read(each) for name, each in value.items()}

    return reader


_FORMS = {kind: _described(each) for kind, each in CLASSES.items()}


def version_refused(read: int) -> Reason:
    """Return why a file of another version than `read` is not read, and the remedy."""
    return Reason(
        "must be {version}: a later version of Minutebook wrote this file, so upgrade this one; or a version "
        "before the first release did, and none since reads it",
        version=read,
    )


def check_sound(record: Record) -> None:
    """Raise InvalidInput if a memory's text is blank, a session's name, a summary's number or metadata out of bounds."""
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
