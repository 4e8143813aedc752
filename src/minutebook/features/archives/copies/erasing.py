"""Rewrites a backup without some records."""

import os
from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from minutebook.features.archives.copies.backups import DATABASE, pack
from minutebook.features.archives.copies.restores import unpack
from minutebook.features.ledger.mirror.ledger_texts import update_commit_ids
from minutebook.memory.access.audit import Trail, decisions_among, forget_erased
from minutebook.memory.access.visibility import Clock
from minutebook.memory.knowledge.supersession import Supersession
from minutebook.record.caller import Caller
from minutebook.record.errors import StoreError
from minutebook.record.filters import Filter
from minutebook.record.ids import uuid_named
from minutebook.record.reason import os_error_reason
from minutebook.record.records import CLASSES, Decision, Key, Kind, LedgerMark, Memory
from minutebook.record.trust.trail import ERASE
from minutebook.record.writing.decision_drafts import erased
from minutebook.store.disk.atomic_file import scratch_folder
from minutebook.store.disk.encryption import Keys, key_id_of, key_place_missing
from minutebook.store.protocol import Store
from minutebook.store.sqlite import SqliteStore

_DRAFT = "erasure"


def rewrite_without(
    backup: Path,
    caller: Caller,
    records: Sequence[Key],
    clock: Clock,
    home: Path,
    keys: Keys | None,
) -> None:
    """Rewrite a backup without some records and without free pages, with an entry for each in its trail.

    An encrypted backup keeps its key, and is unpacked in the data directory `home`, so that its plain files
    are not written to another disk. Raises InvalidArchive if it is damaged, EncryptionKeyMissing, StoreError or
    LedgerError if it cannot be rewritten; then the old one stays.
    """
    try:
        id = key_id_of(backup)
        if id is not None and keys is None:
            raise key_place_missing(str(backup), id)
        secret = None if id is None or keys is None else keys.find(id, str(backup))
        with scratch_folder(backup if secret is None else home / _DRAFT) as draft:
            unpack(backup, draft, keys)
            with closing(SqliteStore(draft / DATABASE, keys=keys)) as store:
                trail = Trail(store, clock)
                supersession = Supersession(store, clock)
                for key in records:
                    with store.transaction(key[0]):
                        forget_erased(store, [key])
                        _remove(store, trail, supersession, caller, key)
                _rewrite_ledgers(store, draft, records)
                store.upkeep.scrub()
            made = backup.stat()
            pack(backup, draft, datetime.fromtimestamp(made.st_mtime, UTC), secret)
            os.utime(backup, ns=(made.st_atime_ns, made.st_mtime_ns))
    except OSError as error:
        raise StoreError(os_error_reason(error.filename or backup, error)) from error


def _remove(
    store: SqliteStore, trail: Trail, supersession: Supersession, caller: Caller, key: Key
) -> None:
    organization, kind, id = key
    if kind is not Kind.DECISION:
        begun = store.sequence(organization)
        memory = store.get(Memory, organization, id) if kind is Kind.MEMORY else None
        if memory is not None:
            supersession.close_gap(memory)
        if store.delete(CLASSES[kind], organization, id):
            trail.log(caller, organization, ERASE, kind, [id], begun=begun)
        return
    decision = store.get(Decision, organization, id)
    if decision is not None:
        with trail.audited(caller, organization, ERASE, kind, id) as audit:
            audit.check(decision)
            audit.changes(None, erased(decision).text)
            store.put(erased(decision))


def _rewrite_ledgers(store: Store, draft: Path, records: Sequence[Key]) -> None:
    decided = decisions_among(records)
    if not decided:
        return
    from minutebook.features.ledger.git.erasing import erase
    from minutebook.features.ledger.git.repository import Repository

    for head in list(draft.rglob("HEAD")):
        for organization, ids in decided.items():
            if head.parent.name in (organization, str(uuid_named(organization))):
                ledger = Repository.managed(head.parent, organization, nullcontext, "normal")
                erase(ledger, ids)
                with store.transaction(organization):
                    commit = update_commit_ids(store, organization, ledger)
                    for mark in store.find(LedgerMark, Filter(organization=organization)):
                        if commit is not None:
                            store.put(replace(mark, commit_id=commit))
