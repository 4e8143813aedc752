"""Archives as files: written and read line by line."""

import hashlib
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from errno import ELOOP
from typing import Any, BinaryIO

from minutebook.features.archives.archive_lines import (
    FORMAT,
    KINDS,
    Owner,
    counts_of,
    foreign_record,
    header,
    journal_line,
    journal_record,
)
from minutebook.features.archives.archive_paths import ArchivePath
from minutebook.record.errors import InvalidArchive, InvalidInput, StoreError
from minutebook.record.json_lines import check_sound, json_line, line_of, object_of, record_of
from minutebook.record.reason import Reason, os_error_reason
from minutebook.record.records import Kind, Record, Summary, Turn
from minutebook.store.disk.encryption import FileDamaged, Keys, decrypting
from minutebook.store.disk.sealed_lines import LONGEST_LINE, SEAL, SealedLines, open_plain

OnRead = Callable[[int], None]
"""Is called with the number of bytes read so far."""


class ArchiveWriter(SealedLines):
    """Writes an archive with known counts: a header, a line for each record, and a seal over both."""

    def __init__(self, file: BinaryIO, made_at: datetime, counts: Mapping[Kind, int]) -> None:
        super().__init__(file)
        self.write(json_line(header(made_at, counts)))

    def add(self, record: Record) -> None:
        """Write a record."""
        self.write(line_of(record))


class JournalWriter(SealedLines):
    """Writes turns and summaries in the journal's published data model: a line for each record, no header or seal."""

    def add(self, record: Record) -> None:
        """Write a turn or a summary."""
        assert isinstance(record, Turn | Summary), f"a {type(record).__name__} has no line there"
        self.write(journal_line(record))

    def seal(self, **further: object) -> str:
        """Return the digest of the file; such a file has no seal."""
        return self.digest


class Reader:
    """Reads an archive, ours or a foreign one, any number of times.

    Foreign lines are Memory Core's, or of the journal's published data model; their records get the `owner`.
    """

    def __init__(self, file: BinaryIO, called: str, owner: Owner) -> None:
        self._file = file
        self.called = called
        self._owner = owner
        self.size = file.seek(0, io.SEEK_END)
        self.counts: dict[Kind, int] = {}
        """The number of records by kind, after all have been read."""
        self.digest = ""
        """The digest of all lines but the seal, after all have been read."""

    def records(self, at: OnRead) -> Iterator[tuple[int, Record]]:
        """Yield the line number and the record of each line.

        Raises InvalidArchive at the first line that does not fit, or at the end if the seal is
        missing or does not match.
        """
        self._file.seek(0)
        sum, number, read = hashlib.sha256(), 0, 0
        stated_counts: dict[Kind, int] | None = None
        found: Counter[Kind] = Counter()
        is_sealed, latest = False, 0
        while line := self._next():
            number, read = number + 1, read + len(line)
            at(read)
            with self._line(number):
                _check_line(line, is_sealed=is_sealed)
                document = object_of(line)
                if number == 1 and "format" in document:
                    stated_counts = counts_of(document)
                elif stated_counts is not None and document.keys() == {SEAL}:
                    _check_seal(document, sum.hexdigest(), stated_counts, found)
                    is_sealed = True
                    continue
                else:
                    record = self._record(document, is_ours=stated_counts is not None)
                    if stated_counts is not None:
                        latest = _check_place(record, stated_counts, latest)
                    found[record.kind] += 1
                    yield number, record
            sum.update(line)
        if number == 0 or (stated_counts is not None and not is_sealed):
            reason = Reason("the file ends before its last line")
            raise InvalidArchive(self.called, reason if number else Reason("the file is empty"))
        self.counts = dict(found) if stated_counts is None else stated_counts
        self.digest = sum.hexdigest()

    def _next(self) -> bytes:
        try:
            return self._file.readline(LONGEST_LINE + 1)
        except FileDamaged as error:
            raise InvalidArchive(self.called, "it was changed or cut short") from error
        except OSError as error:
            raise StoreError(os_error_reason(self.called, error)) from error

    def _record(self, document: Mapping[str, Any], *, is_ours: bool) -> Record:
        if is_ours:
            record = record_of(document)
        elif "kind" in document:
            raise InvalidInput("line", "must not come before the header, which is missing")
        elif "metadata" in document:
            record = foreign_record(document, self._owner)
        elif "sessionId" in document:
            record = journal_record(document, self._owner)
        else:
            remedy = "must be the header of a {format}, a turn or summary with its `sessionId`, or Memory Core's record"
            raise InvalidInput("line", remedy, format=FORMAT)
        check_sound(record)
        return record

    @contextmanager
    def _line(self, number: int) -> Iterator[None]:
        try:
            yield
        except InvalidInput as error:
            raise InvalidArchive(self.called, error.sentence, number) from error


@contextmanager
def reading(archive: ArchivePath, owner: Owner, keys: Keys | None = None) -> Iterator[Reader]:
    """Open an archive, encrypted or not.

    Raises InvalidInput if there is no plain file, StoreError if it cannot be read, EncryptionKeyMissing if `keys` lack its key.
    """
    called = archive.called
    try:
        file = open(archive.path, "rb", opener=open_plain)  # noqa: SIM115
    except IsADirectoryError as error:
        remedy = "must be a plain file; {called} is none"
        raise InvalidInput("file", remedy, called=called) from error
    except FileNotFoundError as error:
        raise InvalidInput("file", "must exist; there is no {called}", called=called) from error
    except OSError as error:
        # Since Python 3.13 a circular link is found here, not when the path is resolved.
        if error.errno == ELOOP:
            raise InvalidInput(
                "file", "must be a plain file; {called} is a link", called=called
            ) from error
        raise StoreError(os_error_reason(called, error)) from error
    with file, decrypting(file, called, keys) as inside:
        yield Reader(inside, called, owner)


def _check_line(line: bytes, *, is_sealed: bool) -> None:
    if is_sealed:
        raise InvalidInput("line", "must not come after the seal")
    if len(line) > LONGEST_LINE:
        raise InvalidInput("line", "must not be longer than {most} MiB", most=LONGEST_LINE >> 20)
    if not line.strip():
        raise InvalidInput("line", "must not be empty")


def _check_place(record: Record, counts: Mapping[Kind, int], latest: int) -> int:
    """Return the index of a record's kind in KINDS.

    Raises InvalidInput if the header does not name the kind, or a later kind (`latest`) came before it.
    """
    if record.kind not in counts:
        raise InvalidInput(
            "kind", "must be one that the header names; {kind} is none", kind=record.kind
        )
    index = KINDS.index(record.kind)
    if index < latest:
        raise InvalidInput("kind", "must stand before those of the kind {kind}", kind=KINDS[latest])
    return index


def _check_seal(
    document: Mapping[str, Any], digest: str, counts: Mapping[Kind, int], found: Counter[Kind]
) -> None:
    for kind, count in counts.items():
        if found[kind] != count:
            remedy = "say {count} of the kind {kind}, there are {found}"
            raise InvalidInput("counts", remedy, count=count, kind=kind, found=found[kind])
    if document[SEAL] != digest:
        raise InvalidInput(SEAL, "must fit what was read: the file was changed or damaged")
