"""The labelled set of hostile content, and look-alikes that are none.

`texts.jsonl` has a text a line: `id`, `class`, `must` (what must be true of it wherever it comes out), `text`. Slots of made-up
secrets are filled when the text is read (`benchmarks.secret_samples`). Whatever it must be, a text steers no page, terminal or
log. `masked`: its secrets are gone, or named where the setting says so. `marked`: it is said to read as
instructions. `inert`: it comes out as it is. `kept`: that, and nobody says anything of it.
`missed` says that no rule reaches it; `fresh`, that it was judged once before any rule was changed for it.
`files.jsonl` has hostile files: `door` names what reads them, `must` what becomes of them.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal

from benchmarks.secret_samples import filled

HERE = Path(__file__).parent

_LETTERS = "bcdfgjklmpqrtvwz"

Must = Literal["masked", "marked", "inert", "kept"]


@dataclass(frozen=True, slots=True)
class Item:
    """A text of the set: its word, by which it is found again, its class, what must be true of it, its secrets."""

    id: str
    word: str
    of: str
    must: Must
    bare: str
    secrets: tuple[str, ...]
    missed: bool
    fresh: bool

    @property
    def text(self) -> str:
        """The text as it is put in: with its word behind it."""
        return f"{self.bare} {self.word}"

    @property
    def carries(self) -> bool:
        """Tell whether it can be sent as JSON in UTF-8: no lone surrogate is in it."""
        return not any("\ud800" <= each <= "\udfff" for each in self.bare)


@cache
def texts() -> tuple[Item, ...]:
    """Return the texts, with their secrets filled in: the same in each run."""
    return tuple(
        _item(number, json.loads(line))
        for number, line in enumerate((HERE / "texts.jsonl").read_text("utf-8").splitlines())
    )


def _item(number: int, line: dict[str, Any]) -> Item:
    text, secrets = filled(line["text"], Random(line["id"]))
    return Item(
        id=line["id"],
        # No digits, at which a search parts words, and no ending that it takes off.
        word="zq" + "".join(_LETTERS[number >> 4 * at & 15] for at in (2, 1, 0)),
        of=line["class"],
        must=line["must"],
        bare=text,
        secrets=tuple(secrets),
        missed=line.get("missed", False),
        fresh=line.get("fresh", False),
    )
