"""Ends of trails, noted outside the store in files to which lines are only added."""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from minutebook.record.errors import InvalidInput, StoreError
from minutebook.record.instants import rfc3339
from minutebook.record.json_lines import json_line
from minutebook.record.reason import os_error_reason
from minutebook.record.records import Head
from minutebook.store.disk.atomic_file import new_file

SUFFIX = ".jsonl"
"""The suffix of the files in a folder of noted heads."""


def note_heads(path: Path, heads: Sequence[Head], at: datetime) -> tuple[Path, int]:
    """Note the heads that are not the last noted ones of their organizations; return the file, and how many it got.

    `path` is a file, which gets a line for each head, or a folder, which gets a new file with the lines. If no head is
    new, it returns `path` and 0. Raises InvalidInput if noted heads cannot be read, StoreError if nothing can be written.
    """
    known = read_heads(path)[0] if path.exists() else []
    last = {head.organization: (head.number, head.digest) for head in known}
    new = [head for head in heads if last.get(head.organization) != (head.number, head.digest)]
    lines = b"".join(_line(head, at) for head in new)
    if not new:
        return path, 0
    if path.is_dir():
        path = path / f"heads-{at.astimezone(UTC):%Y%m%dT%H%M%S%fZ}{SUFFIX}"
        with new_file(path, str(path)) as file:
            file.write(lines)
    else:
        _append(path, lines)
    return path, len(new)


def read_heads(path: Path) -> tuple[list[Head], int]:
    """Return the heads noted in a file, or in the files of a folder, and the number of torn lines.

    A torn line was being written when the machine stopped. Raises InvalidInput if the file cannot be
    read, or a whole line is no head.
    """
    heads, torn = [], 0
    for file in sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]:
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise InvalidInput(
                "--heads", "must be what `audit head --to` wrote ({error})", error=error
            ) from error
        for number, line in enumerate(lines, 1):
            if not line.endswith("}"):
                torn += bool(line)
                continue
            heads.append(_head(file, number, line))
    return heads, torn


def _head(file: Path, number: int, line: str) -> Head:
    try:
        noted = json.loads(line)
        return Head(
            organization=str(noted["organization"]),
            id="",
            number=int(noted["number"]),
            digest=str(noted["digest"]),
        )
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        remedy = "must be what `audit head --to` wrote; line {number} of {file} is not"
        raise InvalidInput("--heads", remedy, number=number, file=file) from error


def _line(head: Head, at: datetime) -> bytes:
    named = {"organization": head.organization, "number": head.number, "digest": head.digest}
    return json_line({"at": rfc3339(at), **named})


def _append(path: Path, lines: bytes) -> None:
    try:
        with path.open("ab") as file:
            if path.stat().st_size and not _ends_whole(path):
                lines = b"\n" + lines
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StoreError(os_error_reason(path, error)) from error


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
