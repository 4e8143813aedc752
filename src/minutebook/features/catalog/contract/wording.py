"""The domain's facts as JSON-RPC errors of the `catalog` contract."""

import json
import re
from collections.abc import Mapping
from typing import Any

from minutebook.record.errors import (
    Conflict,
    EmbeddingNotReady,
    InBatch,
    InvalidInput,
    Locked,
    MinutebookError,
    ModelUnavailable,
    NotFound,
    Refused,
    StoreError,
)
from minutebook.record.ids import id_of, is_id, uuid_of
from minutebook.serve.contracts.answers import Failure
from minutebook.serve.contracts.resources import text_of

_ERRORS: Mapping[str, Any] = json.loads(text_of(__package__, "contract.json"))["errors"]
_ITEM = re.compile(r"items\[(\d+)\]")
_WIRE = {"content": "current_content", "type": "memory_type", "scope": "scope_type"}


def word(error: MinutebookError, arguments: Mapping[str, Any]) -> Failure:
    """Return the failure for an error: its cause and remedy; `data` names the argument, id or item."""
    match error:
        case InBatch(index=index, error=inner):
            return _inside(index, word(inner, arguments["items"][index]))
        case NotFound(kind=kind, id=id):
            shown = _shown(id, arguments)
            return _failure("not_found", {"id": shown}, kind=kind.capitalize(), id=shown)
        case InvalidInput(argument=argument, remedy=remedy):
            if argument not in arguments:
                argument = _WIRE.get(argument, argument)
            item = _ITEM.match(argument)
            data = {"argument": argument} | ({"index": int(item[1])} if item else {})
            return _failure("invalid", data, argument=argument, remedy=remedy)
        case Locked(id=id, reason=reason):
            shown = _shown(id, arguments)
            return _failure("locked", {"id": shown}, id=shown, reason=reason)
        case Refused(act=act, reason=reason):
            return _failure("forbidden", {"act": act, "reason": reason}, act=act, reason=reason)
        case Conflict(id=id, reason=reason):
            shown = _shown(id, arguments)
            return _failure("conflict", {"id": shown}, id=shown, reason=reason)
        case EmbeddingNotReady(reason=reason):
            return _failure("not_ready", {"reason": reason}, reason=reason or "it is loading")
        case ModelUnavailable(reason=reason, remedy=remedy):
            return _failure("not_ready", {"reason": reason}, reason=f"{reason}; {remedy}")
        case StoreError(reason=reason):
            return _failure("failed", {"reason": reason}, reason=f"The store failed: {reason}")
        case _:
            return _failure("failed", {}, reason=str(error))


def _failure(name: str, data: Mapping[str, Any], **facts: Any) -> Failure:
    promise = _ERRORS[name]
    return Failure(promise["text"].format(**facts), promise["code"], data)


def _inside(index: int, failure: Failure) -> Failure:
    data = {"index": index, **(failure.structured or {})}
    if "argument" in data:
        data["argument"] = f"items[{index}].{data['argument']}"
    return Failure(f"items[{index}]: {failure.text}", failure.code, data)


def _shown(id: str, arguments: Mapping[str, Any]) -> str:
    """Show an id as the caller wrote it, else as a UUID."""
    for value in arguments.values():
        if isinstance(value, str) and id_of(value) == id:
            return value
    return str(uuid_of(id)) if is_id(id) else id


MAX_TITLE_WORDS = 12
MAX_TITLE_CHARACTERS = 100

_MARKS = re.compile(r"^(?:#{1,6}\s+|[-*+>•]\s+|\d{1,3}[.)]\s+|\[[ xX]\]\s+)+")
_EMPHASIS = re.compile(r"\*\*|`")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]*_`]*\s+(?=\S)|(?<=[。！？])")
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|e\.g|i\.e|etc|vs|cf|no|dr|mr|mrs|st|z\.B|bzw|ca|nr)\.$", re.IGNORECASE
)


def title_from(text: str) -> str:
    """Return the first sentence of the first line with a word, without Markdown; "" if there is none.

    A longer one is cut to whole words, at most MAX_TITLE_WORDS and MAX_TITLE_CHARACTERS, followed by "…".
    """
    lines = (_EMPHASIS.sub("", _MARKS.sub("", line.strip())) for line in text.splitlines())
    line = next((each for each in lines if any(map(str.isalnum, each))), "")
    return _shortened(_first_sentence(" ".join(line.split())))


def _first_sentence(line: str) -> str:
    for match in _SENTENCE_END.finditer(line):
        sentence = line[: match.start()]
        if any(map(str.isalnum, sentence)) and not _ABBREVIATED.search(sentence):
            return sentence
    return line


def _shortened(sentence: str) -> str:
    text = sentence.rstrip(" .:;,*_`")
    words = text.split(" ")
    if len(words) <= MAX_TITLE_WORDS and len(text) <= MAX_TITLE_CHARACTERS:
        return text
    shortened = " ".join(words[:MAX_TITLE_WORDS])
    if len(shortened) >= MAX_TITLE_CHARACTERS:
        shortened = shortened[:MAX_TITLE_CHARACTERS]
        # Only a word that is longer than a title is cut itself.
        shortened = shortened.rpartition(" ")[0] or shortened[: MAX_TITLE_CHARACTERS - 1]
    return f"{shortened.rstrip(' .:;,')}…"
