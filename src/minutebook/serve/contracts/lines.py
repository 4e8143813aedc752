"""An answer as lines for a model: a hit a line, with its provenance, in the fewest tokens."""

from collections.abc import Iterator, Mapping
from typing import Any

from minutebook.memory.search.hit_notes import note_names
from minutebook.record.caller import Note
from minutebook.serve.contracts.answers import as_json
from minutebook.text.answerability import verdict_of

Shape = Mapping[str, Any]

DOUBTED = 3
"""How many hits are written where the answer is in doubt."""

_TEXTS = ("content", "preview", "summary", "response")
"""The fields of a hit that hold its text, the first that it has."""


def as_lines(content: Shape, notes: Mapping[str, Note]) -> str:
    """Write the hits of an answer as lines, at most DOUBTED if a note leads, an answer without hits as JSON; below the notes that lead."""
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
    return f"- {' '.join(_text(hit).split())} ({'; '.join(_weighed(hit))})"


def _text(hit: Shape) -> str:
    return next((hit[name] for name in _TEXTS if hit.get(name)), "")


def _weighed(hit: Shape) -> Iterator[str]:
    """Yield how well a hit answers, its time and author, its id, its revision, and the notes of features."""
    yield from _verdict(hit)
    at = str(hit.get("at") or hit.get("timestamp") or "")[:10]
    if written := ", ".join(filter(None, (at, hit.get("by"), hit.get("status")))):
        yield written
    yield hit["id"]
    if (revised := hit.get("revised_by")) is not None:
        yield f"perhaps revised by {revised['id']} on {revised['at'][:10]}"
    yield from (f"{name}: {hit[name]}" for name in note_names() if name in hit)


def _verdict(hit: Shape) -> Iterator[str]:
    """Yield the word for how well a hit answers, of one that says how likely it does."""
    if "relevance" in hit:
        yield verdict_of(hit["relevance"])
