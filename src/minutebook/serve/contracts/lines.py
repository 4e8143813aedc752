"""An answer as lines for a model: a hit a line, with its provenance, in the fewest tokens."""

from collections.abc import Iterator, Mapping
from typing import Any

from minutebook.memory.search.hit_notes import note_names
from minutebook.record.caller import Note
from minutebook.serve.contracts.answers import as_json
from minutebook.text.answerability import verdict_of

Shape = Mapping[str, Any]

DOUBTED = 3
"""Hits that are written if the answer is in doubt."""

_TEXTS = ("content", "preview", "summary", "response")
"""The fields of a hit that hold its text, the first that it has."""


def as_lines(content: Shape, notes: Mapping[str, Note]) -> str:
    """Return an answer as lines: the notes that lead, then a line for each hit, or the JSON of an answer without hits.

    If a note leads, at most DOUBTED hits follow.
    """
    leading = [each.text for each in notes.values() if each.leads]
    results = content.get("results")
    if not isinstance(results, list) or not all(_text(each) for each in results):
        return "\n".join([*leading, as_json(content)])
    reasons = None if leading else content.get("reasons")
    lines = [
        *leading,
        *map(_line, results[:DOUBTED] if leading else results),
        *(("Why it is so:", *map(_line, reasons)) if reasons else ()),
    ]
    return "\n".join(lines)


def _line(hit: Shape) -> str:
    if "file_path" in hit:
        # Code keeps its lines.
        place = f"{hit['file_path']}:{hit['start_line']}-{hit['end_line']}"
        return f"{place}{''.join(f' ({word})' for word in _verdict(hit))}\n{_text(hit)}"
    return f"- {' '.join(_text(hit).split())} ({'; '.join(_remarks(hit))})"


def _text(hit: Shape) -> str:
    return next((hit[name] for name in _TEXTS if hit.get(name)), "")


def _remarks(hit: Shape) -> Iterator[str]:
    """Yield the remarks in brackets after a hit: its verdict, date, author and status, id, revision, notes of features."""
    yield from _verdict(hit)
    date = str(hit.get("at") or hit.get("timestamp") or "")[:10]
    if origin := ", ".join(filter(None, (date, hit.get("by"), hit.get("status")))):
        yield origin
    yield hit["id"]
    if (revised := hit.get("revised_by")) is not None:
        yield f"perhaps revised by {revised['id']} on {revised['at'][:10]}"
    yield from (f"{name}: {hit[name]}" for name in note_names() if name in hit)


def _verdict(hit: Shape) -> Iterator[str]:
    """Yield the word for how likely a hit answers, if it has a relevance."""
    if "relevance" in hit:
        yield verdict_of(hit["relevance"])
