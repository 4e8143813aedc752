"""Signing the ends of trails, with a key that the data directory does not hold."""

import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from minutebook.app import App
from minutebook.features.audit_proof.head_signatures import (
    SIGN,
    Signatures,
    message_of,
    signed_text,
    subject_of,
)
from minutebook.features.audit_proof.settings import ProofSettings
from minutebook.features.audit_proof.trail_key import (
    is_valid_signature,
    path_beside,
    private_key,
    public_half,
)
from minutebook.memory.jobs import Job
from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict, InvalidInput, StoreError
from minutebook.record.filters import Filter
from minutebook.record.reason import os_error_reason
from minutebook.record.records import Entry, Head, Kind
from minutebook.record.trust.trail import Break, first_break
from minutebook.store.disk.atomic_file import replace_file
from minutebook.store.disk.filelock import FileLock

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from minutebook.memory.access.audit import Trail
    from minutebook.store.protocol import Store

log = logging.getLogger(__name__)

LAST_SIGNED_SUFFIX = ".signed"
"""The suffix of the file beside a key with the ends that it signed last, by organization."""

_LOCK_WAIT = 30.0
"""The most seconds to wait for another process that signs with the same key."""


@dataclass(frozen=True, slots=True)
class NotSigned:
    """A trail that was not signed, as it does not continue the end that was signed last."""

    organization: str
    broken: Break


class HeadSigning:
    """Signs the ends of a store's trails, with a key in a file outside the store's folder; None if no key is set.

    A file beside the key has the ends that it signed last. A trail that does not continue from there is not signed: so
    somebody who forges a trail and waits does not get it signed. Stores do not share a key.
    """

    def __init__(self, store: "Store", trail: "Trail", path: Path | None) -> None:
        self._store, self._trail, self._path = store, trail, path

    @property
    def is_on(self) -> bool:
        """Whether a key is set."""
        return self._path is not None

    def public_key(self) -> str | None:
        """Return the public half of the key that is set; None if none is. Raises InvalidInput if it cannot be read."""
        return None if self._path is None else public_half(private_key(self._path))

    def last_signed(self) -> dict[str, Head]:
        """Return the ends that the key signed last, by organization. Raises Conflict if their file is damaged."""
        return {} if self._path is None else _read_ends(path_beside(self._path, LAST_SIGNED_SUFFIX))

    def sign(self, caller: Caller, *, accept: bool = False) -> list[NotSigned]:
        """Sign each trail that has grown; return those that do not continue the last signed one.

        With `accept` those are signed too, as after a backup was restored. Raises InvalidInput if no
        key is set or it cannot be read, StoreError if its other files cannot be read or written.
        """
        if self._path is None:
            raise InvalidInput("audit_key", "must be set to sign; `minutebook audit key` makes one")
        key = private_key(self._path)
        refused = []
        with self._locked():
            ends = self.last_signed()
            for organization in self._store.organizations():
                last = None if accept else ends.get(organization)
                broken = self._sign_one(caller, organization, key, last)
                if broken is not None:
                    refused.append(NotSigned(organization, broken))
        return refused

    def _sign_one(
        self, caller: Caller, organization: str, key: "Ed25519PrivateKey", last: Head | None
    ) -> Break | None:
        """Sign a trail if it has grown; return where it does not continue from the end `last`, and then do not sign."""
        head = self._trail.head(organization)
        if head is None:
            return None
        signed = self._end_signed_by_last_entry(organization, head, public_half(key))
        if signed is not None and last is not None and signed.digest == last.digest:
            return None
        broken = self._break_since(organization, last)
        if broken is not None:
            return broken
        if signed is not None:
            # Another server has signed with the same key.
            self._write_last_signed(organization, signed)
            return None
        with self._store.transaction(organization):
            head = self._trail.head(organization)
            assert head is not None
            signature = key.sign(message_of(organization, head.number, head.digest))
            note = signed_text(public_half(key), signature)
            self._trail.log(caller, organization, SIGN, Kind.HEAD, [subject_of(head)], note=note)
        self._write_last_signed(organization, head)
        return None

    def _end_signed_by_last_entry(self, organization: str, head: Head, key: str) -> Head | None:
        """Return the end that the last entry signs with this key; None if it is another entry."""
        entry = self._store.get(Entry, organization, str(head.number))
        if entry is None:
            return None
        signatures = Signatures(key, is_valid_signature)
        signatures.add(entry)
        if not signatures.result().number:
            return None
        return Head(
            organization=organization, id="", number=entry.number - 1, digest=entry.previous
        )

    def _break_since(self, organization: str, last: Head | None) -> Break | None:
        """Return the first entry after the end that was signed last that breaks the trail; with None, of the whole trail."""
        if last is None:
            return self._trail.verify(organization)
        ending = self._store.get(Entry, organization, str(last.number))
        if ending is None or ending.digest != last.digest:
            return Break(last.number, "it is not the one that was signed")
        where = Filter(organization=organization)
        newest_first = self._store.each(Entry, where, ["-number"])
        later = [*takewhile(lambda entry: entry.number > last.number, newest_first)]
        return first_break(reversed(later), since=last)

    def _write_last_signed(self, organization: str, head: Head) -> None:
        """Write to the file beside the key that it signed this end."""
        assert self._path is not None
        path = path_beside(self._path, LAST_SIGNED_SUFFIX)
        ends = {**self.last_signed(), organization: head}
        content = {name: [end.number, end.digest] for name, end in ends.items()}
        try:
            replace_file(path, json.dumps(content, indent=1, sort_keys=True).encode())
        except OSError as error:
            raise StoreError(os_error_reason(path, error)) from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let other processes with the same key wait meanwhile."""
        assert self._path is not None
        lock = FileLock(path_beside(self._path, ".lock"))
        lock.acquire(_LOCK_WAIT)
        try:
            yield
        finally:
            lock.close()


def _read_ends(path: Path) -> dict[str, Head]:
    try:
        found = json.loads(path.read_bytes())
        return {
            name: Head(organization=name, id="", number=int(number), digest=str(digest))
            for name, (number, digest) in found.items()
        }
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(os_error_reason(path, error)) from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        reason = (
            "it cannot be read; compare the trail with heads noted elsewhere, then remove the file"
        )
        raise Conflict(str(path), reason) from error


def head_signing(app: App) -> HeadSigning:
    """Return the signing with the key of the settings."""
    key = app.settings.of(ProofSettings).audit_key
    return HeadSigning(app.infrastructure.store, app.trail, key)


def jobs(app: App) -> Iterable[Job]:
    """Yield the job that signs trails that have grown, if a key is set; it warns once of each trail that is broken."""
    signing = app.get(head_signing)

    def sign(caller: Caller) -> None:
        for each in signing.sign(caller):
            broken = f"entry {each.broken.number}: {each.broken.reason}"
            if (each.organization, broken) not in warned:
                warned.add((each.organization, broken))
                log.warning("the trail of %s is not signed any more: %s", each.organization, broken)

    warned: set[tuple[str, str]] = set()
    if signing.is_on:
        yield Job("signatures", sign, "the trail cannot be signed")
