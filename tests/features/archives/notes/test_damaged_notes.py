"""Small files of JSON in which something is noted: whatever a fault made of one, it is passed over or told in our words."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.features.archives.copies.scheduled_backups import scheduled_backups
from minutebook.features.archives.notes.note_folder import NoteFolder
from minutebook.features.erasure import order as erasure_order
from minutebook.features.hooks import log as hook_log
from minutebook.record.errors import StoreError

DEEP = b"[" * 200_000
CONTENTS = (b"", b"1", b'"x"', b"null", b"[]", b"{}", b'{"records": 1}', b"\xff\xfe", DEEP)


def _hooks(folder: Path) -> object:
    return hook_log.entries(str(folder))


def _agreed(folder: Path) -> object:
    return list(NoteFolder(folder).agreed)


def _failure(folder: Path) -> object:
    with closing(open_app(settings_with(home=folder, embedder="none"))) as app:
        return app.get(scheduled_backups).state().failure


@pytest.mark.parametrize(
    ("name", "read"),
    [
        (hook_log.NAME, _hooks),
        (".minutebook/pending.jsonl", _agreed),
        (".scheduled-backup.json", _failure),
    ],
)
def test_notes_that_are_none_are_passed_over(
    tmp_path: Path, name: str, read: Callable[[Path], object]
) -> None:
    path = tmp_path / name
    for content in CONTENTS:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content + b"\n")
        found = read(tmp_path)
        assert not found or found == [{}] or found == [{"records": 1}], content[:20]


def test_an_erasure_whose_note_cannot_be_read_is_told(tmp_path: Path) -> None:
    for content in CONTENTS:
        (tmp_path / erasure_order.NAME).write_bytes(content)
        with pytest.raises(StoreError, match="erase again"):
            erasure_order.OrderFile(tmp_path).read()
