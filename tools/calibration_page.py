"""Draws `docs/calibration.svg` and words its section of `docs/quality.md` from `docs/calibration.json`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "docs" / "calibration.json"

SIZE, MARGIN = 400, 46
"""Of the picture and of its margins, in pixels."""

COLOURS = ("#222222", "#3b6ea5", "#b07a1f", "#b3262e", "#4f8a3c")

OPENING = """\
## Relevance

Whether a text is about a question is said by one logistic of their late interaction, fitted by
`python -m benchmarks.calibrate` on questions with their answers and with texts about something else: other paragraphs
(`xquad-dev`), other notes (`notes`), the turns of another conversation (`locomo-dev`).

![Reliability: the share of answers among texts of a relevance](calibration.svg)

*Area* is that under the ROC curve of the best late interaction in a store that holds the answer against one that does
not, *kept* the share of questions of which an answer reaches the cut, *others* the share of texts about something else
that reach it.
"""


def section() -> Iterator[str]:
    """Yield the lines of the section."""
    told = _read()
    yield OPENING
    constants = ", ".join(f"`{name}` {value}" for name, value in told["constants"].items())
    yield f"Fitted for {told['model']}: {constants}; the cut is {told['cut']}."
    yield ""
    yield "| questions | n | area | kept | others |"
    yield "| --- | --- | --- | --- | --- |"
    for name, groups in told["sets"].items():
        for group, each in groups.items():
            yield (
                f"| {name}, {group} | {each['questions']} | {each['area']:.3f}"
                f" | {100 * each['kept']:.1f} | {100 * each['strangers']:.1f} |"
            )
    yield ""


def drawing() -> str:
    """Draw the reliability diagram as SVG: a line a set, a dot a tenth, larger where more lies."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIZE}" height="{SIZE}"'
        ' font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        *_axes(),
    ]
    for number, (name, parts) in enumerate(_read()["reliability"].items()):
        lines += _curve(name, parts, number)
    return "\n".join([*lines, "</svg>", ""])


def _axes() -> Iterator[str]:
    for tenth in range(0, 11, 2):
        x, y = _at(tenth / 10, tenth / 10)
        yield f'<text x="{x:.1f}" y="{SIZE - MARGIN + 16}" text-anchor="middle">{tenth / 10}</text>'
        yield f'<text x="{MARGIN - 6}" y="{y + 4:.1f}" text-anchor="end">{tenth / 10}</text>'
    (left, bottom), (right, top) = _at(0, 0), _at(1, 1)
    side = right - left
    yield (
        f'<rect x="{left}" y="{top}" width="{side}" height="{side}" fill="none" stroke="#dddddd"/>'
    )
    yield f'<line x1="{left}" y1="{bottom}" x2="{right}" y2="{top}" stroke="#dddddd"/>'
    middle = SIZE / 2
    yield f'<text x="{middle}" y="{SIZE - 10}" text-anchor="middle">relevance</text>'
    yield (
        f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">'
        "share of answers</text>"
    )


def _curve(name: str, parts: Sequence[Mapping[str, float]], number: int) -> Iterator[str]:
    colour = COLOURS[number % len(COLOURS)]
    points = [(*_at(each["relevance"], each["answers"]), each["weight"]) for each in parts]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}"/>'
    for x, y, weight in points:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{2 + 5 * weight**0.5:.1f}" fill="{colour}"/>'
    yield f'<text x="{MARGIN + 10}" y="{MARGIN + 16 + 15 * number}" fill="{colour}">{name}</text>'


def _at(relevance: float, answers: float) -> tuple[float, float]:
    room = SIZE - 2 * MARGIN
    return MARGIN + room * relevance, SIZE - MARGIN - room * answers


def _read() -> dict[str, Any]:
    told: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return told
