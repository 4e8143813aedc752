"""Which commits to a ledger hold by themselves, and which wait until somebody here accepts them."""

import secrets
from typing import TYPE_CHECKING

from minutebook.features.ledger.keys.secret_place import SecretPlace
from minutebook.memory.access.visibility import Clock
from minutebook.record.errors import LedgerBusy
from minutebook.record.instants import is_ahead
from minutebook.record.records import Decision
from minutebook.store.named_locks import NamedLocks

if TYPE_CHECKING:
    # Git and YAML take 0.14 s to import; who has no ledger does without them.
    from minutebook.features.ledger.git.history import DecisionCommit

_WAIT = 10.0


class LedgerTrust:
    """Decides which commits are trusted: this store's own and those that the person's Git trusts, or all."""

    def __init__(
        self, place: SecretPlace, locks: NamedLocks, clock: Clock, *, trusts_everyone: bool
    ) -> None:
        self._place = place
        self._locks = locks
        self._clock = clock
        self._key: bytes | None = None
        self.trusts_everyone = trusts_everyone

    def key(self) -> bytes | None:
        """Return the key by which this store proves its commits; None before its first. Raises StoreError."""
        if self._key is None and (text := self._place.read()) is not None:
            self._key = bytes.fromhex(text)
        return self._key

    def ensure_key(self) -> bytes:
        """Return the key, made now if there is none; the first call must be outside of transactions.

        Raises LedgerBusy, StoreError.
        """
        from minutebook.features.ledger.git.proofs import KEY_BYTES

        known = self.key()
        if known is not None:
            return known
        with self._locks.hold("ledger key", _WAIT) as held:
            if held is None:
                raise LedgerBusy("another process makes the ledger's key", "try again")
            made = self.key() or secrets.token_bytes(KEY_BYTES)
            self._place.write(made.hex())
        return made

    def trusts(self, commit: "DecisionCommit | None") -> bool:
        """Tell whether the decisions of a commit go into the tables; None: Git does not name the commit."""
        if self.trusts_everyone:
            return True
        return commit is not None and (commit.is_ours or commit.signer != "")

    def is_future_dated(self, decision: Decision) -> bool:
        """Tell whether the date of a decision is in the future; no commit is trusted about that."""
        return is_ahead(decision.created_at, self._clock())
