"""Arguments checked against the published schema, and against the prose of a contract."""

import difflib
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import fastjsonschema

from minutebook.record.errors import InvalidInput
from minutebook.record.ids import id_of, is_id
from minutebook.record.reason import Reason, Word, must_be_one_of

EXAMPLE_INSTANT = "2026-01-06T12:00:00Z"
EXAMPLE_UUID = "550e8400-e29b-41d4-a716-446655440000"

Schema = Mapping[str, Any]


class Arguments:
    """Checks the properties of one object, such as a tool's arguments, and fills in their defaults.

    `published` is the schema as clients see it, `hidden` has further properties that clients may send.
    With `leaves_out` unknown properties are ignored; else they are refused, and the nearest known one is named.
    `enforced` adds, by property, what the contract says in prose. It holds keywords of JSON Schema, and:

    - `clamp`: a larger number becomes this one;
    - `maxBytes`: the most bytes of the value, as UTF-8 or JSON text;
    - `form`: `id` (an id, also as `{"tb": …, "id": {"String": …}}` or UUID), `uuid` (a UUID or an id), `instant`
      (ISO 8601) or `any` (unchecked, and not required);
    - `clears`: null is a value, which empties the field;
    - `default` null: no default, whatever `published` says;
    - `properties`, `hiddenProperties`: `enforced` and `hidden` of the property's own properties, or of its items'.
    """

    def __init__(
        self, published: Schema, enforced: Schema, hidden: Schema, *, leaves_out: bool = False
    ) -> None:
        self._leaves_out = leaves_out
        self._properties: dict[str, Any] = {**published["properties"], **hidden}
        self._required: list[str] = published.get("required", [])
        self._enforced = enforced
        self._inner = {
            name: inner for name in self._properties if (inner := self._inner_of(name)) is not None
        }

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments, complete and converted. Raises InvalidInput if one does not fit.

        An argument that is null counts as not given, unless null clears it. A string that is the JSON of the
        declared number, boolean, list or object is read as that. Instants become `datetime`s in UTC. An
        error names an argument inside another as `filters.status` or `items[0].title`.
        """
        given = arguments
        if self._leaves_out:
            arguments = {name: given[name] for name in self._properties if name in given}
        self._check_known(arguments)
        cleared = {name: None for name, value in arguments.items() if value is None}
        present = {
            name: self._read(name, value) for name, value in arguments.items() if value is not None
        }
        try:
            checked: dict[str, Any] = self._validate(present)
        except fastjsonschema.JsonSchemaValueException as error:
            raise _worded(error, present, self.left_out(given)) from error
        return {
            **{name: self._finish(name, value) for name, value in checked.items()},
            **{name: None for name in cleared if self._enforced.get(name, {}).get("clears")},
        }

    def left_out(self, arguments: Mapping[str, Any]) -> list[str]:
        """Return the names of the arguments that are ignored, since the tool does not know them."""
        return [name for name in arguments if name not in self._properties]

    def nearest(self, name: str) -> str | None:
        """Return the known argument with the name most like `name`, None if none is like it."""
        return next(iter(difflib.get_close_matches(name, self._properties, 1, 0.5)), None)

    def _inner_of(self, name: str) -> "Arguments | None":
        """Return the checker of the properties of an object, or of a list's objects; None for other arguments."""
        schema, rules = self._properties[name], self._enforced.get(name, {})
        described = schema.get("items", schema)
        if "properties" not in described or self._form(name) == "any":
            return None
        return Arguments(described, rules.get("properties", {}), rules.get("hiddenProperties", {}))

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
        schema = {**self._properties[name], **self._enforced.get(name, {})}
        # Inner properties have an `Arguments` of their own.
        inside = ("properties", "required", "items") if name in self._inner else ()
        for word in (*_OWN_KEYWORDS, *_ANNOTATIONS, *inside):
            schema.pop(word, None)
        return {word: value for word, value in schema.items() if value is not None}

    def _form(self, name: str) -> str | None:
        form: str | None = self._enforced.get(name, {}).get("form")
        return form

    def _check_known(self, arguments: Mapping[str, Any]) -> None:
        for name in arguments:
            if name not in self._properties:
                if similar := self.nearest(name):
                    remedy = "is not an argument of this tool; `{name}` is"
                    raise InvalidInput(name, remedy, name=similar)
                known = ", ".join(self._properties) or Word("none")
                remedy = "is not an argument of this tool; it takes: {names}"
                raise InvalidInput(name, remedy, names=known)

    def _read(self, name: str, value: Any) -> Any:
        """Return a value in the form that the schema describes: parsed from a string, or an id from its longer forms."""
        if self._form(name) != "id":
            declared = None if self._form(name) == "any" else self._properties[name].get("type")
            return _as_declared(declared, value) if isinstance(value, str) else value
        match value:
            case {"tb": str(), "id": {"String": str(id)}} | {"tb": str(), "id": str(id)} | str(id):
                return id_of(id) or id
            case _:
                return value

    def _finish(self, name: str, value: Any) -> Any:
        """Return a value that fits the schema converted as `enforced` says. Raises InvalidInput if it does not fit that."""
        enforced = self._enforced.get(name, {})
        if enforced.get("form") == "any":
            return value
        if name in self._inner:
            return self._finish_inner(name, value)
        size = _size(name, value)
        if self._properties[name].get("type") == "number":
            value = _finite(name, value)
        if size > enforced.get("maxBytes", size):
            remedy = "must be at most {most} bytes, got {count}"
            raise InvalidInput(name, remedy, most=enforced["maxBytes"], count=size)
        if isinstance(value, float) and self._properties[name].get("type") == "integer":
            value = int(value)
        if "clamp" in enforced:
            return min(value, enforced["clamp"])
        match enforced.get("form"):
            case "instant":
                return _instant(name, value)
            case "uuid":
                return _uuid(name, value)
            case _:
                return value

    def _finish_inner(self, name: str, value: Any) -> Any:
        if not isinstance(value, list):
            return self._checked_inside(name, name, value)
        return [
            self._checked_inside(name, f"{name}[{index}]", each) for index, each in enumerate(value)
        ]

    def _checked_inside(self, name: str, path: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise InvalidInput(
                path, "must be {kind} (got {given})", kind=_KINDS["object"], given=_shown(value)
            )
        try:
            return self._inner[name].check(value)
        except InvalidInput as error:
            raise InvalidInput(f"{path}.{error.argument}", error.remedy) from error


_PYTHON_TYPES = {
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def _as_declared(declared: str | None, text: str) -> Any:
    """Return the value that a string is the JSON of, if it is of the declared type; else the string."""
    wanted = _PYTHON_TYPES.get(declared or "")
    if wanted is None or text != text.strip():
        return text
    try:
        value = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return text
    is_wanted = isinstance(value, wanted) and (bool in wanted or not isinstance(value, bool))
    return value if is_wanted else text


def _refused(constant: str) -> None:
    """Raise ValueError for a constant that JSON does not have."""
    raise ValueError(constant)


_OWN_KEYWORDS = ("clamp", "maxBytes", "form", "clears", "hiddenProperties")
"""The keywords in `enforced` that JSON Schema does not have."""

_ANNOTATIONS = ("nullable", "description", "format")


def _finite(name: str, value: float) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise InvalidInput(name, "must be a finite number") from error


def _size(name: str, value: Any) -> int:
    """Return the bytes of a value as text. Raises InvalidInput if JSON cannot hold it."""
    text = value
    try:
        if not isinstance(value, str):
            text = json.dumps(value, allow_nan=False, ensure_ascii=False)
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
        remedy = Reason(
            "must be a time in ISO 8601 format, such as {example}", example=EXAMPLE_INSTANT
        )
        raise InvalidInput(name, "{what} (got {given})", what=remedy, given=_shown(text)) from error


def _uuid(name: str, text: str) -> str:
    """Return the id, a UUID in its canonical spelling."""
    if is_id(text):
        return text
    try:
        return str(uuid.UUID(text))
    except ValueError as error:
        remedy = Reason("must be a UUID, such as {example}", example=EXAMPLE_UUID)
        raise InvalidInput(name, "{what} (got {given})", what=remedy, given=_shown(text)) from error


_KINDS = {
    "string": Reason("text"),
    "integer": Reason("a whole number"),
    "number": Reason("a number"),
    "boolean": Reason("true or false"),
    "object": Reason("a JSON object"),
    "array": Reason("a list"),
}


def _worded(
    error: fastjsonschema.JsonSchemaValueException,
    arguments: Mapping[str, Any],
    left_out: Sequence[str],
) -> InvalidInput:
    """Return a schema's error in our words; `left_out` names the arguments that were ignored."""
    if error.rule == "required":
        missing = next(name for name in error.rule_definition if name not in arguments)
        near = difflib.get_close_matches(missing, left_out, 1, 0.5)
        if near:
            remedy = "is required; `{name}` is not an argument of this tool"
            return InvalidInput(missing, remedy, name=near[0][:50])
        return InvalidInput(missing, "is required")
    name, rule = str(error.name).removeprefix("data."), error.rule_definition
    match error.rule:
        case "type":
            remedy = Reason("must be {kind}", kind=_KINDS[rule])
        case "minimum":
            remedy = Reason("must be at least {least}", least=rule)
        case "maximum":
            remedy = Reason("must be at most {most}", most=rule)
        case "minLength" if rule > 1:
            remedy = Reason("must have at least {least} characters", least=rule)
        case "maxLength":
            remedy = Reason("must have at most {most:,} characters", most=rule)
        case "maxItems":
            return InvalidInput(
                name,
                "must have at most {most:,} items, got {count:,}",
                most=rule,
                count=len(error.value),
            )
        case "minLength" | "minItems" | "minProperties" | "pattern":
            remedy = Reason("must not be empty")
        case "enum":
            remedy = must_be_one_of(map(str, rule))
        case _:
            remedy = Reason(error.message.removeprefix(f"{error.name} "))
    return InvalidInput(name, "{what} (got {given})", what=remedy, given=_shown(error.value))


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else f"{text[:57]}…"
