"""Arguments against the published schema, and against what only the prose of a contract says."""

import difflib
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import fastjsonschema

from minutebook.domain.errors import InvalidInput
from minutebook.domain.ids import id_of

EXAMPLE_INSTANT = "2026-01-06T12:00:00Z"

Schema = Mapping[str, Any]


class Arguments:
    """Checks one tool's arguments and fills their defaults.

    `published` is the schema as clients see it. `enforced` adds, by property, what the contract
    says in prose: JSON Schema keywords, and
    `clamp` (larger numbers become this one), `maxBytes` (of the value as UTF-8 or JSON text),
    `form`: `id` (also `{"tb": …, "id": {"String": …}}` and UUIDs), `instant` (RFC 3339) or `any`
    (whatever was sent, or nothing). `hidden` names further properties that are taken, not shown.
    """

    def __init__(self, published: Schema, enforced: Schema, hidden: Schema) -> None:
        self._properties: dict[str, Any] = {**published["properties"], **hidden}
        self._required: list[str] = published.get("required", [])
        self._enforced = enforced

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Give the arguments complete and in the right types, or raise InvalidInput.

        An argument given as null is as good as not given. Instants become `datetime`s in UTC.
        """
        self._check_known(given)
        arguments = {
            name: self._read(name, value) for name, value in given.items() if value is not None
        }
        try:
            checked: dict[str, Any] = self._validate(arguments)
        except fastjsonschema.JsonSchemaValueException as error:
            raise _worded(error, arguments) from error
        return {name: self._finish(name, value) for name, value in checked.items()}

    @cached_property
    def _validate(self) -> Callable[[dict[str, Any]], dict[str, Any]]:
        properties = {name: self._schema_of(name) for name in self._properties}
        lenient = {name for name in self._properties if self._form(name) == "any"}
        compiled: Callable[[dict[str, Any]], dict[str, Any]] = fastjsonschema.compile(
            {
                "type": "object",
                "properties": properties,
                "required": [name for name in self._required if name not in lenient],
            }
        )
        return compiled

    def _schema_of(self, name: str) -> dict[str, Any]:
        if self._form(name) == "any":
            return {}
        ours = {"clamp", "maxBytes", "form"}
        enforced = {k: v for k, v in self._enforced.get(name, {}).items() if k not in ours}
        schema = {**self._properties[name], **enforced}
        for annotation in ("nullable", "description", "format"):
            schema.pop(annotation, None)
        return schema

    def _form(self, name: str) -> str | None:
        form: str | None = self._enforced.get(name, {}).get("form")
        return form

    def _check_known(self, given: Mapping[str, Any]) -> None:
        for name in given:
            if name not in self._properties:
                near = difflib.get_close_matches(name, self._properties, 1, 0.5)
                known = ", ".join(self._properties) or "none"
                raise InvalidInput(
                    name,
                    f"is not an argument of this tool; did you mean `{near[0]}`?"
                    if near
                    else f"is not an argument of this tool; it takes: {known}",
                )

    def _read(self, name: str, value: Any) -> Any:
        """Bring the longer forms of an id into the one that the schema describes."""
        if self._form(name) != "id":
            return value
        match value:
            case {"tb": str(), "id": {"String": str(id)}} | {"tb": str(), "id": str(id)} | str(id):
                return id_of(id) or id
            case _:
                return value

    def _finish(self, name: str, value: Any) -> Any:
        enforced = self._enforced.get(name, {})
        if enforced.get("form") == "any":
            return value
        size = _size(name, value)
        if self._properties[name].get("type") == "number":
            value = _finite(name, value)
        if size > enforced.get("maxBytes", size):
            raise InvalidInput(name, f"must be at most {enforced['maxBytes']} bytes, got {size}")
        if isinstance(value, float) and self._properties[name].get("type") == "integer":
            value = int(value)
        if "clamp" in enforced:
            return min(value, enforced["clamp"])
        if enforced.get("form") == "instant":
            return _instant(name, value)
        return value


def _finite(name: str, value: float) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise InvalidInput(name, "must be a finite number") from error


def _size(name: str, value: Any) -> int:
    try:
        text = (
            value
            if isinstance(value, str)
            else json.dumps(value, allow_nan=False, ensure_ascii=False)
        )
    except ValueError as error:
        raise InvalidInput(name, "must hold finite numbers only") from error
    except RecursionError as error:
        raise InvalidInput(name, "must not be nested so deeply") from error
    return len(text.encode("utf-8", "surrogatepass"))


def _instant(name: str, text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
        return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        remedy = f"must be a time in ISO 8601 format, such as {EXAMPLE_INSTANT}"
        raise InvalidInput(name, f"{remedy} (got {_shown(text)})") from error


_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "a JSON object",
    "array": "a list",
}


def _worded(
    error: fastjsonschema.JsonSchemaValueException, arguments: Mapping[str, Any]
) -> InvalidInput:
    if error.rule == "required":
        missing = next(name for name in error.rule_definition if name not in arguments)
        return InvalidInput(missing, "is required")
    name, rule = error.path[1], error.rule_definition
    match error.rule:
        case "type":
            remedy = f"must be {_TYPES[rule]}"
        case "minimum":
            remedy = f"must be at least {rule}"
        case "maximum":
            remedy = f"must be at most {rule}"
        case "minLength":
            remedy = "must not be empty"
        case "enum":
            remedy = f"must be one of {', '.join(map(str, rule))}"
        case _:
            remedy = error.message.removeprefix(f"{error.name} ")
    return InvalidInput(name, f"{remedy} (got {_shown(arguments[name])})")


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else f"{text[:57]}…"
