"""Citations of code, and the verdicts on them."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class CodeDefinition:
    """A definition or a named value (`is_value`) in a file: its names, outer first, its lines, counted from 1, and digests.

    `digest` is of its tokens without comments. Two more find it under a new name: `nameless` leaves out its own name
    wherever it occurs, `headless` only where it is defined, since the new name may occur in it as another word.
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
    """A citation of a file, of lines of it, or of a definition in it, `written` as in the text.

    `is_new`: no commit had it when it was written.
    """

    written: str
    path: str
    lines: tuple[int, int] | None = None
    definition: CodeDefinition | None = None
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """A citation, its verdict, and where the code is now, empty if it is gone.

    `since` is the first commit in which it does not hold; empty if it holds, or no commit has the change yet.
    """

    cited: Cited
    verdict: CitationVerdict
    where: str = ""
    since: str = ""

    @property
    def holds(self) -> bool:
        """Whether the code is as it was when it was cited."""
        return self.verdict is CitationVerdict.HOLDS
