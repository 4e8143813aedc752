"""Restores a data directory from a backup, and checks backups."""

import hashlib
import json
import shutil
import tarfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import IO

from minutebook.features.archives.copies.backups import DATABASE, FORMAT, MANIFEST, VERSION
from minutebook.memory.access.audit import Trail
from minutebook.memory.maintenance.data_directory import ON_SERVER, DataDirectory
from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict, InvalidArchive, InvalidInput, StoreBusy, StoreError
from minutebook.record.filters import Filter, default_organization
from minutebook.record.reason import Reason, os_error_reason
from minutebook.record.records import SYSTEM_ORGANIZATION, Kind, Token
from minutebook.record.rights.grants import home_of, is_live
from minutebook.store.disk.atomic_file import scratch_folder, sync_folder, sync_tree
from minutebook.store.disk.encryption import FileDamaged, Keys, decrypting
from minutebook.store.sqlite import SqliteStore
from minutebook.store.sqlite.encryption import copied_with_key, key_of

RESTORE = "restore"
_DRAFT = "restore"
_COPY = "encrypted.db"
_BLOCK = 1 << 20
_ALL_TOKENS = Filter(organization=SYSTEM_ORGANIZATION)
_MOST_MANIFEST = 64 << 20


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of a restore: the backup's digest, and in `aside` the folder with the former files, if any.

    `kept` are the tokens that stayed as they were before the restore: revoked since the backup, or with
    another secret. `unsure` are the valid tokens of the backup if the tokens before could not be read.
    """

    digest: str
    aside: Path | None
    kept: tuple[Token, ...] = ()
    unsure: tuple[Token, ...] = ()


class Restores:
    """Restores backups into a data directory, which no other process may use meanwhile.

    Raises StoreError if the store is on a server.
    """

    def __init__(self, directory: DataDirectory) -> None:
        if directory.is_on_server:
            raise StoreError(ON_SERVER)
        self._directory = directory

    def check_empty(self) -> None:
        """Raise Conflict if the directory holds a store, ledgers or settings."""
        if existing := self._existing():
            names = ", ".join(path.name for path in existing)
            reason = "it is not empty ({names}); --replace puts aside what is there"
            raise Conflict(str(self._directory.path), reason, names=names)

    def run(self, caller: Caller, backup: Path, now: datetime) -> Restored:
        """Restore the content of a backup, with an entry in its trail; the former files move to a folder beside it.

        If the present store is encrypted, the restored one gets the same key; else the database stays as the backup has it.

        Everything is verified before anything is changed, and the store is moved last: if a restore is
        killed before, the next one finishes it. A token that was revoked since the backup stays revoked.
        Raises InvalidInput if the backup cannot be opened, InvalidArchive if it is damaged, StoreBusy
        if the store is open, StoreError if files cannot be written.
        """
        home, database = self._directory.path, self._directory.database
        try:
            home.mkdir(parents=True, exist_ok=True, mode=0o700)
            with scratch_folder(home / _DRAFT) as draft:
                digest = unpack(backup, draft, self._directory.keys)
                before = self._tokens()
                # Raises StoreError for a database that this version cannot open.
                with closing(SqliteStore(draft / DATABASE, keys=self._directory.keys)) as store:
                    trail = Trail(store, lambda: now)
                    home_of_trail = default_organization(caller)
                    trail.log(caller, home_of_trail, RESTORE, Kind.HEAD, [digest])
                    kept = _keep_revoked(store, trail, caller, before or ())
                    unsure = _live(store, now) if before is None else ()
                self._encrypt_as_now(draft)
                sync_tree(draft)
                with self._directory.alone():
                    aside = self._put_aside(now)
                    unpacked = replace(
                        self._directory, database=draft / DATABASE, derived=(), copies=()
                    )
                    for path in unpacked.kept():
                        path.rename(home / path.name)
                    # A rename replaces the old store at once, so that there is always one.
                    (draft / DATABASE).replace(database)
            sync_folder(home)
        except OSError as error:
            raise StoreError(os_error_reason(error.filename or home, error)) from error
        return Restored(digest, aside, kept, unsure)

    def _tokens(self) -> list[Token] | None:
        """Return the tokens of the present store; None if there is no readable one."""
        if not self._directory.database.exists():
            return None
        try:
            with closing(SqliteStore(self._directory.database, keys=self._directory.keys)) as store:
                return store.find(Token, _ALL_TOKENS)
        except StoreBusy:
            raise
        except StoreError:
            return None

    def _encrypt_as_now(self, draft: Path) -> None:
        """Encrypt the database of a draft with the key of the present one, if that is encrypted."""
        now, then = self._directory.key(), key_of(draft / DATABASE, self._directory.keys)
        if now is not None and now != then:
            with copied_with_key(draft / DATABASE, then, draft / _COPY, now):
                (draft / _COPY).replace(draft / DATABASE)

    def _put_aside(self, now: datetime) -> Path | None:
        """Move the existing files to a folder aside and return it; None if there are none."""
        existing = self._existing()
        # The index is derived from the old store, and made anew from the restored one.
        shutil.rmtree(self._directory.index, ignore_errors=True)
        if not existing:
            return None
        aside = self._directory.folder_aside(now)
        self._directory.shared_memory.unlink(missing_ok=True)
        for path in existing:
            if path == self._directory.database:
                _link_or_copy(path, aside / path.name)
            else:
                path.rename(aside / path.name)
        return aside

    def _existing(self) -> list[Path]:
        database = self._directory.database
        # A damaged database may have left a log that would spoil the next one.
        files = (database, self._directory.log)
        return [*self._directory.kept(), *(path for path in files if path.exists())]


def _keep_revoked(
    store: SqliteStore, trail: Trail, caller: Caller, before: Sequence[Token]
) -> tuple[Token, ...]:
    """Put tokens back as they were before a restore if that lets in fewer callers, with an entry for each; return those."""
    kept = []
    for token in before:
        known = store.get(Token, SYSTEM_ORGANIZATION, token.id)
        is_known = known is not None and known.digest == token.digest
        if token.revoked_at is None and (known is None or is_known):
            continue
        if known is not None and known.revoked_at is not None:
            continue
        with trail.audited(
            caller, home_of(token), RESTORE, Kind.TOKEN, token.id, also=[SYSTEM_ORGANIZATION]
        ) as audit:
            audit.check()
            store.put(token)
        kept.append(token)
    return tuple(kept)


def _live(store: SqliteStore, now: datetime) -> tuple[Token, ...]:
    return tuple(each for each in store.find(Token, _ALL_TOKENS) if is_live(each, now))


def _link_or_copy(path: Path, other: Path) -> None:
    try:
        other.hardlink_to(path)
    except PermissionError:
        # Some file systems have no hard links.
        shutil.copy2(path, other)


def check_restorable(backup: Path, keys: Keys | None = None) -> None:
    """Restore a backup into a folder beside it, check its database, and remove the folder again.

    Raises InvalidArchive if the backup or its database is damaged, StoreError if files cannot be written.
    """
    try:
        with scratch_folder(backup) as draft:
            unpack(backup, draft, keys)
            with closing(SqliteStore(draft / DATABASE, keys=keys)) as store:
                for finding in store.upkeep.check():
                    raise _invalid(
                        backup, "the store in it is not whole: {finding}", finding=finding
                    )
    except OSError as error:
        raise StoreError(os_error_reason(error.filename or backup, error)) from error


def unpack(backup: Path, draft: Path, keys: Keys | None) -> str:
    """Unpack a backup into a folder, checking each file against its digest; return the backup's digest.

    Raises InvalidArchive if it is no backup, or damaged, InvalidInput if it cannot be opened.
    """
    found: dict[str, str] = {}
    manifest: bytes | None = None
    try:
        with (
            backup.open("rb") as file,
            decrypting(file, str(backup), keys) as inside,
            tarfile.open(fileobj=inside, mode="r:") as tar,
        ):
            for member in tar:
                if manifest is not None:
                    raise _invalid(backup, "{name} stands after the manifest", name=member.name)
                source = _opened(backup, tar, member)
                if member.name == MANIFEST:
                    manifest = source.read(_MOST_MANIFEST)
                elif member.name in found:
                    raise _invalid(backup, "{name} stands there twice", name=member.name)
                else:
                    found[member.name] = _copy(source, draft / member.name)
    except FileNotFoundError as error:
        raise InvalidInput("file", "must exist; there is no {path}", path=backup) from error
    except FileDamaged as error:
        raise _invalid(backup, "it was changed or cut short") from error
    except tarfile.TarError as error:
        raise _invalid(backup, "it is no backup, or not whole: {error}", error=error) from error
    if manifest is None:
        raise _invalid(backup, "it ends before its manifest")
    _check_manifest(backup, manifest, found)
    return hashlib.sha256(manifest).hexdigest()


def _opened(backup: Path, tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    """Open a member of a backup. Raises InvalidArchive unless it is a plain file with a path below the data directory."""
    path = PurePosixPath(member.name)
    parts = member.name.split("/")
    if not member.isreg() or path.is_absolute() or {"", ".", ".."} & set(parts):
        raise _invalid(
            backup, "{name!r} is no plain file below the data directory", name=member.name
        )
    if "\\" in member.name or ":" in member.name or parts[0].startswith("."):
        raise _invalid(backup, "{name!r} is no name that a backup gives", name=member.name)
    file = tar.extractfile(member)
    assert file is not None, "a plain file can be read"
    return file


def _copy(source: IO[bytes], path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest = hashlib.sha256()
    with path.open("xb") as file:
        path.chmod(0o600)
        while data := source.read(_BLOCK):
            digest.update(data)
            file.write(data)
    return digest.hexdigest()


def _check_manifest(backup: Path, manifest: bytes, found: dict[str, str]) -> None:
    try:
        stated = json.loads(manifest)
        is_ours, version, digests = stated["format"] == FORMAT, stated["version"], stated["sha256"]
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise _invalid(backup, "its manifest cannot be read") from error
    if not is_ours or version != VERSION:
        reason = Reason(
            "another program wrote it, or a later version of Minutebook: then upgrade this one"
        )
        raise _invalid(backup, reason)
    for name in sorted(found.keys() | digests.keys() | {DATABASE}):
        if name not in found or found[name] != digests.get(name):
            raise _invalid(backup, "{name} is not what it was when the backup was made", name=name)


def _invalid(backup: Path, reason: str, **values: object) -> InvalidArchive:
    return InvalidArchive(str(backup), Reason(reason, **values))
