"""The files that machines exchange: a header, a line for each record, and a seal with the digest of all lines before it."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from minutebook.features.sync.replication import TRAVELLING, ReplicaState, document_of, state_of
from minutebook.record.errors import InvalidArchive, InvalidInput, StoreError
from minutebook.record.json_lines import (
    check_sound,
    json_line,
    object_of,
    record_of,
    version_refused,
)
from minutebook.record.reason import os_error_reason
from minutebook.record.records import Key, Kind, Memory
from minutebook.record.trust.trail import text_digest
from minutebook.store.disk.sealed_lines import LONGEST_LINE, SEAL, SealedLines, open_plain

FORMAT = "minutebook-sync"
VERSION = 1

_SEAL_SIZE = 256


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file: the remote, the machine that wrote it (id and name), and its number among that machine's files.

    `heads` are the number and digest of the last entry of the machine's audit trails, by organization. `covers`, of a
    snapshot alone, is the number up to which it contains each machine's files.
    """

    remote: str
    machine: str
    name: str
    number: int
    heads: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    covers: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChangeEntry:
    """A machine's state of one record, with its lines.

    `erased` tells that it was erased and must not come back, `is_persons` that a person wrote or confirmed this memory
    there as it is.
    """

    key: Key
    state: ReplicaState
    erased: bool = False
    is_persons: bool = False

    @property
    def persons_text(self) -> str | None:
        """The digest of the text of a memory that a person wrote or confirmed; None if none did, or versions are in conflict."""
        records = [each.record for each in self.state.siblings]
        if not self.is_persons or len(records) != 1 or not isinstance(records[0], Memory):
            return None
        return text_digest(records[0].text)


@dataclass(frozen=True, slots=True)
class Verified:
    """A file that was read to its end and is sound: its path, header, digest, and number of records.

    `organizations` are those of its records, `decided` those of its decisions.
    """

    path: Path
    header: Header
    digest: str
    organizations: frozenset[str]
    decided: frozenset[str]
    count: int


class ChangeWriter(SealedLines):
    """Writes a file: `add` for each record, then `seal`."""

    def __init__(self, file: BinaryIO, header: Header) -> None:
        super().__init__(file)
        self.count = 0
        self.write(
            json_line(
                {
                    "format": FORMAT,
                    "version": VERSION,
                    "remote": header.remote,
                    "machine": header.machine,
                    "name": header.name,
                    "number": header.number,
                    "heads": {name: list(head) for name, head in header.heads.items()},
                    "covers": dict(header.covers),
                }
            )
        )

    def add(self, entry: ChangeEntry) -> None:
        """Write the state of a record."""
        organization, kind, id = entry.key
        named = {"kind": kind, "organization": organization, "id": id}
        mark = {"erased": True} if entry.erased else {}
        if entry.is_persons:
            mark["person"] = True
        self.write(json_line({**named, **mark, **document_of(entry.state, with_lines=True)}))
        self.count += 1

    def seal(self, **further: object) -> str:
        """Write the last line, with the digest of all lines before it and the number of records; return the digest."""
        return super().seal(count=self.count, **further)


def verify(path: Path, remote: str) -> Verified:
    """Read a file to its end and return what is known of it. Raises InvalidArchive, with the line, if it is not sound."""
    organizations, decided, count = set[str](), set[str](), 0
    with _opened(path) as file:
        reader = _ChangeReader(file, path)
        for each in reader.entries():
            count += 1
            organizations.add(each.key[0])
            if each.key[1] is Kind.DECISION:
                decided.add(each.key[0])
        header = reader.header
    if header.remote != remote:
        raise InvalidArchive(path.name, "it belongs to another remote")
    return Verified(
        path, header, reader.digest, frozenset(organizations), frozenset(decided), count
    )


def entries(verified: Verified) -> Iterator[ChangeEntry]:
    """Yield the records of a file that was verified. Raises InvalidArchive if it was changed since."""
    with _opened(verified.path) as file:
        reader = _ChangeReader(file, verified.path)
        yield from reader.entries()
    if reader.digest != verified.digest:
        raise InvalidArchive(verified.path.name, "it was changed while it was read")


def is_sealed(path: Path) -> bool:
    """Tell whether a file ends with a seal: one that was cut short does not."""
    try:
        with _opened(path) as file:
            file.seek(-min(_SEAL_SIZE, os.fstat(file.fileno()).st_size), os.SEEK_END)
            return SEAL in object_of(file.read().splitlines(keepends=True)[-1])
    except (StoreError, InvalidArchive, InvalidInput, IndexError):
        return False


def covers_of(path: Path, remote: str) -> Mapping[str, int]:
    """Return by machine the number up to which a snapshot contains its files; nothing if the snapshot was cut short."""
    if not is_sealed(path):
        return {}
    try:
        with _opened(path) as file:
            header = _header_of(object_of(file.readline(LONGEST_LINE)))
    except (StoreError, InvalidArchive, InvalidInput):
        return {}
    return header.covers if header.remote == remote else {}


class _ChangeReader:
    """Reads one file from its beginning to its end."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file = file
        self._name = path.name
        self.digest = ""
        self.header = Header("", "", "", 0)

    def entries(self) -> Iterator[ChangeEntry]:
        """Yield the records. Raises InvalidArchive at the first line that does not fit."""
        sum, number, count = hashlib.sha256(), 0, 0
        while line := self._file.readline(LONGEST_LINE + 1):
            number += 1
            try:
                if self.digest:
                    raise InvalidInput("line", "must not come after the seal")
                if len(line) > LONGEST_LINE:
                    raise InvalidInput(
                        "line", "must not be longer than {most} MiB", most=LONGEST_LINE >> 20
                    )
                document = object_of(line)
                if number == 1:
                    self.header = _header_of(document)
                elif SEAL in document:
                    if (document[SEAL], document.get("count")) != (sum.hexdigest(), count):
                        raise InvalidInput(SEAL, "must fit what was read: the file is damaged")
                    self.digest = sum.hexdigest()
                else:
                    count += 1
                    yield _entry_of(document)
            except InvalidInput as error:
                raise InvalidArchive(self._name, error.sentence, number) from error
            sum.update(line)
        if not self.digest:
            raise InvalidArchive(self._name, "the file ends before its last line")


def _header_of(document: Mapping[str, Any]) -> Header:
    if document.get("format") != FORMAT:
        raise InvalidInput("format", "must be {format}", format=FORMAT)
    if document.get("version") != VERSION:
        raise InvalidInput("version", version_refused(VERSION))
    texts = [document.get(name) for name in ("remote", "machine", "name")]
    number, heads, covers = (document.get(name) for name in ("number", "heads", "covers"))
    if not (all(isinstance(each, str) for each in texts) and isinstance(number, int)):
        raise InvalidInput("machine", "must be named, with the number of the file")
    if not (isinstance(heads, dict) and isinstance(covers, dict)):
        raise InvalidInput("heads", "must be given")
    if not all(isinstance(each, int) for each in covers.values()):
        raise InvalidInput("covers", "must give numbers by machine")
    ends = {str(name): (int(head[0]), str(head[1])) for name, head in heads.items() if head}
    return Header(str(texts[0]), str(texts[1]), str(texts[2]), number, ends, covers)


def _entry_of(document: Mapping[str, Any]) -> ChangeEntry:
    kind, organization, id = (document.get(name) for name in ("kind", "organization", "id"))
    if kind not in TRAVELLING or not isinstance(organization, str) or not isinstance(id, str):
        raise InvalidInput("kind", "must be one that machines exchange, with organization and id")
    key = (organization, Kind(kind), id)
    state = state_of(document)
    for sibling in state.siblings:
        if sibling.digest and sibling.line is None:
            raise InvalidInput("record", "must be given")
        if sibling.line is not None:
            record = record_of(object_of(sibling.line))
            check_sound(record)
            if (record.organization, record.kind, record.id) != key:
                raise InvalidInput("record", "must be the one that the line names")
    return ChangeEntry(key, state, document.get("erased") is True, document.get("person") is True)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a plain file, without waiting for a pipe or following a link."""
    try:
        handle = open_plain(path)
    except IsADirectoryError as error:
        raise InvalidArchive(path.name, "it is no plain file") from error
    except OSError as error:
        raise StoreError(os_error_reason(path, error)) from error
    with os.fdopen(handle, "rb") as file:
        yield file
