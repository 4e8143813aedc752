"""Citations of code, and the verdicts on them."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class CodeDefinition:
    """A definition or a named value (`is_value`) in a file: its names, outer first, its lines, counted from 1, and its content.

    `digest` is of its tokens but comments. By the others a renamed one is found: `nameless` is the same with its own name left
    out, `headless` with its name left out where it is defined, as its new one may be a word in it.
    """

    path: str
    names: tuple[str, ...]
    first: int
    last: int
    digest: str
    nameless: str
    headless: str
    is_value: bool = False


class CitationVerdict(StrEnum):
    """The state of cited code, compared with the time of the citation."""

    HOLDS = "holds"
    CHANGED = "changed"
    RENAMED = "renamed"
    MOVED = "moved"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Cited:
    """A citation: a file of a tree, lines of it, or a definition in it; `is_new` if no commit had that when it was written."""

    written: str
    path: str
    lines: tuple[int, int] | None = None
    definition: CodeDefinition | None = None
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """Something that is cited, its verdict, and where it is now, empty where it is gone.

    `since` is the first commit in which it does not stand as it did; empty if it does, or no commit has the change yet.
    """

    cited: Cited
    verdict: CitationVerdict
    where: str = ""
    since: str = ""

    @property
    def holds(self) -> bool:
        """Whether it stands as it did."""
        return self.verdict is CitationVerdict.HOLDS
