"""The lines of a file that a question is about, and how closely records cite them."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pygit2

from minutebook.features.citations.definitions import definitions_of
from minutebook.features.citations.texts import CitingText
from minutebook.features.citations.trees import Blobs
from minutebook.features.code.references import Reference, references_in
from minutebook.features.why.line_history import LineRange
from minutebook.features.why.telling import Rank
from minutebook.record.errors import InvalidInput

_LINES = re.compile(r"(?P<first>\d+)(?:-(?P<last>\d+))?")
_PART = re.compile(r":(?:\d+(?:-\d+)?|[^:\d/\\].*)\Z", re.DOTALL)
_WORD = re.compile(r"\w[\w-]*")


@dataclass(frozen=True, slots=True)
class AskedLines:
    """Lines of a file that a question is about, the names of their definition, outer first, and the words in them.

    A whole file has neither names nor words.
    """

    lines: LineRange
    names: tuple[str, ...]
    words: frozenset[str]
    is_whole: bool = False

    def rank(self, cited: CitingText) -> Rank | None:
        """Return the rank of a record among the reasons, higher if it cites the lines than the file alone; None if neither."""
        found = [each for each in references_in(cited.text) if self._is_cited_by(each)]
        if not found:
            return None
        is_exact = self.is_whole or any(each.symbol or each.lines for each in found)
        if cited.is_binding:
            return Rank.BINDING if is_exact else Rank.RELATED
        return Rank.TELLING if is_exact else Rank.FILE

    def _is_cited_by(self, reference: Reference) -> bool:
        """Tell whether a reference cites the lines: by their definition's name, by a word in them, or by file and lines."""
        path, lines = reference.path, reference.lines
        is_here = path is not None and f"/{self.lines.path}".endswith(f"/{path}")
        if reference.symbol:
            is_named = self.names[-1:] == reference.symbol[-1:]
            # A name that is no definition for the grammar, such as a constant, may be in the lines.
            return (is_here and reference.symbol[-1] in self.words) or (
                is_named and (is_here or path is None)
            )
        return is_here and (
            lines is None or (lines[0] <= self.lines.end and lines[1] > self.lines.first)
        )


def asked_lines(blobs: Blobs, folder: Path, place: str) -> AskedLines:
    """Return the lines of the last commit that an argument FILE[:LINE[-LINE]|:NAME] means. Raises InvalidInput if there are none."""
    path, id, part = _file_of(blobs.repository, folder, place)
    lines = blobs.lines(id)
    if not part:
        return AskedLines(LineRange(path, 0, len(lines or ())), (), frozenset(), is_whole=True)
    if lines is None:
        raise InvalidInput("FILE", "is no text that can be read: {path}", path=path)
    text = "\n".join([*lines, ""])
    match = _LINES.fullmatch(part)
    if match is None:
        return _lines_of_name(path, text, part)
    first, last = int(match["first"]), int(match["last"] or match["first"])
    if not 1 <= first <= last <= len(lines):
        raise InvalidInput("LINE", "{path} has lines 1 to {count}", path=path, count=len(lines))
    around = [
        each for each in definitions_of(path, text) if each.first <= first and last <= each.last
    ]
    return _asked_lines(path, lines, (first - 1, last), around[-1].names if around else ())


def _file_of(
    repository: pygit2.Repository, folder: Path, place: str
) -> tuple[str, pygit2.Oid, str]:
    """Return the path and id of the file that an argument names, and its rest behind a colon: lines, a name or nothing.

    Raises InvalidInput if the last commit has no such file.
    """
    root = os.path.realpath(repository.workdir)
    tree = repository.head.peel(pygit2.Tree)
    # A path may have colons, too.
    colons = [at for at, sign in enumerate(place) if sign == ":" and _PART.match(place, at)]
    for end in (len(place), *colons):
        real = os.path.realpath(folder / place[:end])
        path = os.path.relpath(real, root).replace(os.sep, "/")
        if path in tree and isinstance(file := tree[path], pygit2.Blob):
            return path, file.id, place[end + 1 :]
    named = place[: colons[0]] if colons else place
    if Path(os.path.realpath(folder / named)).is_relative_to(root):
        raise InvalidInput("FILE", "is not in the last commit: {path}", path=named)
    raise InvalidInput("FILE", "is outside of this repository: {path}", path=named)


def _lines_of_name(path: str, text: str, symbol: str) -> AskedLines:
    """Return the lines of a definition, else the first line with its name, as of a key. Raises InvalidInput if there is none."""
    names = tuple(re.split(r"\.|::|#", symbol))
    lines = text.splitlines()
    for each in definitions_of(path, text):
        if each.names[-len(names) :] == names:
            return _asked_lines(path, lines, (each.first - 1, each.last), each.names)
    for number, line in enumerate(lines):
        if names[-1] in _WORD.findall(line):
            return _asked_lines(path, lines, (number, number + 1), names)
    raise InvalidInput("NAME", "is not defined in {path}: {name}", path=path, name=symbol)


def _asked_lines(
    path: str, text: Sequence[str], lines: tuple[int, int], names: tuple[str, ...]
) -> AskedLines:
    words = frozenset(_WORD.findall("\n".join(text[slice(*lines)])))
    return AskedLines(LineRange(path, *lines), names, words)
