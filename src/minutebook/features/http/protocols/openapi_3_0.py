"""Write an OpenAPI 3.1 document as 3.0, with its older dialect of JSON Schema."""

from collections.abc import Mapping
from typing import Any

VERSION = "3.0.3"

_ONE, _SEVERAL = ("items", "additionalProperties", "not"), ("allOf", "anyOf", "oneOf")
"""Keywords that hold a schema, and those that hold a list of them."""

_BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}

_LACKING = frozenset(
    {
        *("$defs", "$schema", "$id", "if", "then", "else", "contains", "prefixItems"),
        *("patternProperties", "propertyNames", "dependentSchemas", "dependentRequired"),
        *("unevaluatedItems", "unevaluatedProperties", "minContains", "maxContains"),
    }
)
"""Keywords of JSON Schema 2020-12 that 3.0 cannot express."""


def as_3_0(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document as OpenAPI 3.0. Raises ValueError if 3.0 cannot express a schema."""
    return {**_converted(document), "openapi": VERSION}


def _converted(part: Any) -> Any:
    if isinstance(part, list):
        return [_converted(each) for each in part]
    if not isinstance(part, Mapping):
        return part
    converted = {}
    for key, value in part.items():
        if key == "schema":
            converted[key] = schema_3_0(value)
        elif key == "schemas":
            converted[key] = {name: schema_3_0(each) for name, each in value.items()}
        else:
            converted[key] = _converted(value)
    return converted


def schema_3_0(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema of JSON Schema 2020-12 as one of OpenAPI 3.0.

    Raises ValueError for a keyword that 3.0 lacks.
    """
    if lacking := _LACKING & schema.keys():
        raise ValueError(f"OpenAPI 3.0 has no {', '.join(sorted(lacking))}")
    converted: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "type":
            converted |= _typed([value] if isinstance(value, str) else value)
        elif key == "const":
            converted["enum"] = [value]
        elif key == "examples":
            converted["example"] = value[0]
        elif key in _BOUNDS:
            converted |= {_BOUNDS[key]: value, key: True}
        elif key == "properties":
            converted[key] = {name: schema_3_0(each) for name, each in value.items()}
        elif key in _ONE and isinstance(value, Mapping):
            converted[key] = schema_3_0(value)
        elif key in _SEVERAL:
            converted[key] = [schema_3_0(each) for each in value]
        else:
            converted[key] = value
    return converted


def _typed(types: list[str]) -> dict[str, Any]:
    """Return the 3.0 keywords for a list of types; `null`, which is no type there, becomes `nullable`."""
    others = [each for each in types if each != "null"]
    if not others:
        return {"nullable": True, "enum": [None]}
    # `nullable` counts only beside a `type`.
    nullable = {"nullable": True} if len(others) < len(types) else {}
    if len(others) == 1:
        return {"type": others[0], **nullable}
    return {"anyOf": [{"type": each, **nullable} for each in others]}
