"""The answer to a call: a text, perhaps with an object, or an error in the contract's form."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from minutebook.record.caller import Note


def serialized(document: Mapping[str, Any], format: str) -> str:
    """Return a document as text; `format` is `json` or `yaml`."""
    if format == "json":
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    # It takes 0.02 s to import, and few ask for it.
    import yaml

    # Through JSON, so that YAML writes an object that stands in two places twice, without references.
    plain = json.loads(json.dumps(document))
    return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100))


Content = Mapping[str, Any] | Iterable[Mapping[str, Any]] | str
"""The result of an operation: an object, a list of objects (any iterable), or a plain text."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as a contract words it.

    Without a `code` it is a tool's result that the model reads: `text`, and `structured` beside it.
    With one it is a JSON-RPC error: code, message `text`, and `structured` as its `data`.
    `name` is its name among the contract's errors, where they have names; `cause` the domain's name
    of the error, for the log; `facts` the error of an operation as the caller may read it.
    """

    text: str
    code: int | None = None
    structured: Mapping[str, Any] | None = None
    name: str = ""
    cause: str = field(default="", compare=False)
    facts: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a call; `content` is the object that `text` writes out, if it is an object.

    If it is `in_lines`, the text is lines for a model, and `content` is not sent. `notes` hold, by name, facts for
    which the promised shape has no room.
    """

    text: str
    content: Mapping[str, Any] | None = None
    error: Failure | None = None
    notes: Mapping[str, Note] = field(default_factory=dict)
    in_lines: bool = False


def readable_parts(answer: Answer) -> list[str]:
    """Return the texts of an answer: the contract's own, then each note's, but for notes that it begins with."""
    notes = (each for each in answer.notes.values() if each.text)
    return [answer.text, *(each.text for each in notes if not (answer.in_lines and each.leads))]


def answered(content: Content) -> Answer:
    """Return the answer that holds the result of an operation; a list is read once, object by object."""
    if isinstance(content, str):
        return Answer(content)
    if isinstance(content, Mapping):
        return Answer(as_json(content), content)
    return Answer(as_json(content))


def failed(failure: Failure) -> Answer:
    """Return the answer that holds an error."""
    return Answer(failure.text, None, failure)


def as_json(content: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> str:
    """Return an object or a list as JSON; of a list, one object at a time is in memory."""
    if isinstance(content, Mapping):
        return json.dumps(content, ensure_ascii=False)
    return f"[{', '.join(as_json(each) for each in content)}]"
