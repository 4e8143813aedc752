"""A long JSON array read element by element, from a file or from a member of a zip archive."""

import codecs
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any, BinaryIO

from minutebook.features.importers.sources.reading.files import ImportSource, SourceFile, opened
from minutebook.record.writing.source_drafts import SourcePlace, UnreadPart

LARGEST_ELEMENT = 64 * 2**20
"""Characters of an element; the rest of an array with a larger one is left out."""

LARGEST_MEMBER = 4 * 2**30
"""Bytes of an unpacked member of an archive; the rest is left out."""

MOST_ELEMENTS = 1_000_000
"""Elements of an array that are read: a small archive may unpack to any number of empty ones."""

_PIECE = 2**20
_DECODER = json.JSONDecoder()
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""The errors of reading a zip archive that is damaged, encrypted or packed in an unknown way."""


def elements_of(
    source: ImportSource, file: SourceFile, is_wanted: Callable[[PurePosixPath], bool]
) -> Iterator[tuple[SourcePlace, Any] | UnreadPart]:
    """Yield place and value of each element of the array in a file, or of those in the wanted members of a zip archive.

    Nothing is unpacked to the disk, so the names of members can do no harm.
    """
    try:
        with opened(file.path) as stream:
            if file.path.suffix.lower() == ".zip":
                yield from _of_archive(stream, file, is_wanted)
            else:
                yield from _elements(stream, file.place)
    except OSError as error:
        yield UnreadPart(file.place, f"cannot be read: {error.strerror or error}")
    source.read += file.size


def _of_archive(
    stream: BinaryIO, file: SourceFile, is_wanted: Callable[[PurePosixPath], bool]
) -> Iterator[tuple[SourcePlace, Any] | UnreadPart]:
    """Yield the elements of the wanted files of a ZIP archive, and the parts that cannot be read."""
    try:
        with zipfile.ZipFile(stream) as archive:
            members = [
                each for each in archive.infolist() if is_wanted(PurePosixPath(each.filename))
            ]
            for member in members:
                place = SourcePlace(f"{file.path}/{PurePosixPath(member.filename).name}")
                with archive.open(member) as content:
                    yield from _elements(content, place)
            if not members:
                yield UnreadPart(file.place, "the archive holds no conversations.json")
    except _BROKEN as error:
        yield UnreadPart(file.place, f"the archive cannot be read: {error}")


def _elements(stream: Any, place: SourcePlace) -> Iterator[tuple[SourcePlace, Any] | UnreadPart]:
    """Yield the elements of an array; any other value as the only element."""
    window = _Window(stream)
    try:
        first = window.skip_blanks()
        if first == "[":
            window.at += 1
            count = 0
            while window.skip_blanks(",") not in ("]", ""):
                count += 1
                if count > MOST_ELEMENTS:
                    raise _TooLarge(f"the rest: more than {MOST_ELEMENTS:,} elements")
                yield place, window.value()
        elif first:
            yield place, window.value()
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, _TooLarge) else "the rest is not JSON in UTF-8"
        yield UnreadPart(place, reason)


class _TooLarge(ValueError):
    """An element or a member is larger than the limit for holding or reading it."""


class _Window:
    """The part of a stream's text that is in memory; what stands before the position `at` has been read."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        # The bytes read so far, and whether these are all.
        self._read = 0
        self._is_whole = False
        self.text = ""
        self.at = 0

    def skip_blanks(self, others: str = "") -> str:
        """Move to the next character that is neither a blank nor one of `others` and return it; empty at the end."""
        wanted = re.compile(rf"[^\s{others}]")
        while True:
            found = wanted.search(self.text, self.at)
            if found is not None:
                self.at = found.start()
                return found[0]
            self.at = len(self.text)
            if not self._grow():
                return ""

    def value(self) -> Any:
        """Parse the value at `at` and move behind it. Raises ValueError if it is none, _TooLarge if it is too long."""
        while True:
            try:
                value, self.at = _DECODER.raw_decode(self.text, self.at)
            except ValueError:
                if len(self.text) - self.at > LARGEST_ELEMENT:
                    raise _TooLarge(
                        f"the rest: an element is longer than {LARGEST_ELEMENT:,} characters"
                    ) from None
                if not self._grow():
                    raise
            else:
                return value

    def _grow(self) -> bool:
        """Read as much again as is in memory, so that parsing again costs little; tell whether there was more."""
        if self._is_whole:
            return False
        self.text, self.at = self.text[self.at :], 0
        piece = self._stream.read(max(_PIECE, len(self.text)))
        self._read += len(piece)
        if self._read > LARGEST_MEMBER:
            raise _TooLarge(f"the rest: more than {LARGEST_MEMBER:,} bytes")
        self._is_whole = not piece
        self.text += self._decoder.decode(piece, final=self._is_whole)
        return bool(piece)
