"""Files of a source, read piece by piece: bounded in memory, whatever they hold."""

import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any, BinaryIO

from minutebook.features.importers.sources.reading.damaged import DECODER, JsonValue, values_in
from minutebook.record.control_characters import cleaned
from minutebook.record.errors import InvalidInput
from minutebook.record.reason import cause_of
from minutebook.record.writing.source_drafts import SourcePlace, UnreadPart
from minutebook.store.disk.sealed_lines import open_plain

LONGEST_LINE = 16 * 2**20
"""Bytes of a line; a longer one is left out without being held."""

LARGEST_DOCUMENT = 64 * 2**20
"""Bytes of a file that has to be held in memory as a whole."""

LARGEST_TEXT = 4 * 2**20
"""Bytes of a file of prose, whose text becomes memories as it is."""

Wanted = Callable[[PurePath], bool]
"""Tells whether a file belongs to a source, given its path below the source's folder."""


@dataclass(frozen=True, slots=True)
class UsualPlace:
    """Where a program keeps its files: at `below` in the folder that the variable names, else in `folder` at home."""

    variable: str
    folder: tuple[str, ...]
    below: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a source: its path, and the path below the source's folder, with forward slashes."""

    path: Path
    name: str
    size: int
    modified: datetime

    @property
    def place(self) -> SourcePlace:
        """The file as a place."""
        return SourcePlace(str(self.path))


class ImportSource:
    """A file, or the files of a folder that a reader wants, in the order of their names.

    Folders with one of the names `skipped_folders` are not entered. Links are left out, as they may lead out
    of the folder. Raises InvalidInput if there is nothing at the path.
    """

    def __init__(
        self, root: Path, wanted: Wanted, skipped_folders: frozenset[str] = frozenset()
    ) -> None:
        self.root = root.resolve()
        self._skipped_folders = skipped_folders
        self.fields: tuple[str, ...] = ()
        """The fields that every record has: by them the next record after damage is known."""
        self.left_out: list[UnreadPart] = []
        self.files: list[SourceFile] = []
        # Bytes, for `part`.
        self.read = 0
        try:
            is_folder = stat.S_ISDIR(self.root.stat().st_mode)
        except OSError as error:
            raise InvalidInput(
                "PATH", "must exist: {path}: {cause}", path=root, cause=cause_of(error)
            ) from error
        if is_folder:
            self._walk(wanted)
        else:
            self._add(self.root, self.root.name)
        self.total = sum(file.size for file in self.files)

    @property
    def part(self) -> float:
        """The part of the bytes that was read so far, in [0, 1]."""
        return min(1.0, self.read / self.total) if self.total else 1.0

    def lines(self, file: SourceFile) -> Iterator[tuple[int, bytes] | UnreadPart]:
        """Yield the number and bytes of each line that is not blank; the last one may still be being written."""
        try:
            with opened(file.path) as stream:
                number = 0
                while line := stream.readline(LONGEST_LINE + 1):
                    number += 1
                    self.read += len(line)
                    if len(line) > LONGEST_LINE:
                        self._skip_line(stream)
                        place = SourcePlace(str(file.path), number)
                        yield UnreadPart(place, f"the line is longer than {LONGEST_LINE:,} bytes")
                    elif line.strip():
                        yield number, line
        except OSError as error:
            yield UnreadPart(file.place, f"cannot be read: {error.strerror or error}")

    def objects(self, file: SourceFile) -> Iterator[tuple[int, dict[str, Any]] | UnreadPart]:
        """Yield line number and JSON object for each line of a file, and each whole object of a damaged line."""
        for number, value in self._by_line(file):
            if isinstance(value, dict):
                yield number, value
            elif isinstance(value, UnreadPart):
                yield value
            else:
                place = SourcePlace(str(file.path), number)
                yield UnreadPart(place, "the line is not a JSON object")

    def values(self, file: SourceFile) -> Iterator[tuple[int, Any]]:
        """Yield the number of its first line and each JSON value of a file, or an UnreadPart in its place.

        A file may have one value on each line, in UTF-8, or a value that spans lines.
        """
        texts = (b"" if isinstance(each, UnreadPart) else each[1] for each in self.lines(file))
        first = next((each for each in texts if each.strip(b"\0\r\n")), b"")
        if any(each.is_whole for each in values_in(_text(first))):
            yield from self._by_line(file)
            return
        content = self.content(file, LARGEST_DOCUMENT)
        if isinstance(content, UnreadPart):
            yield 0, content
        else:
            text = _text(content, json.detect_encoding(content))
            yield from _with_line_numbers(values_in(text, between=",]}"), file, 1)

    def document(self, file: SourceFile) -> Any:
        """Return the JSON value that a file holds, or an UnreadPart."""
        content = self.content(file, LARGEST_DOCUMENT)
        if isinstance(content, UnreadPart):
            return content
        try:
            return DECODER.decode(content.decode(json.detect_encoding(content)))
        except (ValueError, RecursionError):
            return UnreadPart(file.place, "the file is not JSON in UTF-8")

    def text(self, file: SourceFile) -> str | UnreadPart:
        """Return the text of a file with line feeds as line ends, or an UnreadPart if it is too large or not UTF-8."""
        content = self.content(file, LARGEST_TEXT)
        if isinstance(content, UnreadPart):
            return content
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            return UnreadPart(file.place, "the file is not text in UTF-8")
        return cleaned(text.replace("\r\n", "\n").replace("\r", "\n"))

    def content(self, file: SourceFile, most: int) -> bytes | UnreadPart:
        """Return the bytes of a file, or an UnreadPart if it has more than `most` or cannot be read."""
        try:
            with opened(file.path) as stream:
                content = stream.read(most + 1)
        except OSError as error:
            return UnreadPart(file.place, f"cannot be read: {error.strerror or error}")
        self.read += len(content)
        if len(content) > most:
            return UnreadPart(file.place, f"the file is larger than {most:,} bytes")
        return content

    def _by_line(self, file: SourceFile) -> Iterator[tuple[int, Any]]:
        """Yield the JSON values of each line with the line's number, in place of one that cannot be read an UnreadPart."""
        for each in self.lines(file):
            if isinstance(each, UnreadPart):
                yield each.place.line, each
            else:
                number, line = each
                yield from _with_line_numbers(values_in(_text(line), self.fields), file, number)

    def _walk(self, wanted: Wanted) -> None:
        """Add the wanted files below the root, in order of their names; it does not follow links."""

        def leave_out(error: OSError) -> None:
            place = SourcePlace(str(error.filename))
            self.left_out.append(UnreadPart(place, f"cannot be read: {error.strerror or error}"))

        for folder, below, names in os.walk(self.root, onerror=leave_out):
            below[:] = sorted(set(below) - self._skipped_folders)
            for name in list(below):
                if os.path.islink(Path(folder, name)):  # noqa: PTH114
                    below.remove(name)
                    self.left_out.append(UnreadPart(SourcePlace(str(Path(folder, name))), _LINK))
            for name in sorted(names):
                path = Path(folder, name)
                relative = path.relative_to(self.root)
                if wanted(relative):
                    self._add(path, relative.as_posix())

    def _add(self, path: Path, name: str) -> None:
        """Add a file to those that are read, or to those left out if it is no plain file."""
        try:
            state = path.lstat()
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
            self.left_out.append(UnreadPart(SourcePlace(str(path)), reason))
            return
        if stat.S_ISREG(state.st_mode):
            at = datetime.fromtimestamp(state.st_mtime, UTC)
            self.files.append(SourceFile(path, name, state.st_size, at))
        else:
            reason = _LINK if stat.S_ISLNK(state.st_mode) else "it is not a plain file"
            self.left_out.append(UnreadPart(SourcePlace(str(path)), reason))

    def _skip_line(self, stream: BinaryIO) -> None:
        """Read to the end of a line that is too long, with one piece of it in memory at a time."""
        while piece := stream.readline(2**20):
            self.read += len(piece)
            if piece.endswith(b"\n"):
                return


_LINK = "it is a link, and may lead out of the folder"


def opened(path: Path) -> BinaryIO:
    """Open a plain file. Raises OSError for a link, and for a pipe, where it would wait for a writer."""
    return os.fdopen(open_plain(path), "rb")


def _text(content: bytes, encoding: str = "utf-8-sig") -> str:
    return content.decode(encoding, "surrogateescape" if "8" in encoding else "replace")


def _with_line_numbers(
    values: Iterator[JsonValue], file: SourceFile, number: int
) -> Iterator[tuple[int, Any]]:
    """Yield line number and value, an UnreadPart for a damaged one; `number` is that of the first line."""
    for each in values:
        number += each.lines
        place = SourcePlace(str(file.path), number)
        unread = UnreadPart(place, "the line is not JSON in UTF-8")
        yield number, each.value if each.is_whole else unread
