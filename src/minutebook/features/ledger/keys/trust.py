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
    from minutebook.features.ledger.git.history import Commission

_WAIT = 10.0


class LedgerTrust:
    """Believes this store's own commits, those that the person's Git trusts, or those of everyone."""

    def __init__(
        self, place: SecretPlace, locks: NamedLocks, clock: Clock, *, of_everyone: bool
    ) -> None:
        self._place = place
        self._locks = locks
        self._clock = clock
        self._known: bytes | None = None
        self.of_everyone = of_everyone

    def key(self) -> bytes | None:
        """Return the key by which this store proves its commits; None before its first. Raises StoreError."""
        if self._known is None and (text := self._place.read()) is not None:
            self._known = bytes.fromhex(text)
        return self._known

    def made_key(self) -> bytes:
        """Return the key, made now if there is none; call it outside of transactions first.

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

    def believes(self, by: "Commission | None") -> bool:
        """Tell whether the decisions of a commit hold here."""
        return self.of_everyone or (by is not None and (by.is_ours or bool(by.signer)))

    def is_to_come(self, decision: Decision) -> bool:
        """Tell whether the date of a decision has not come yet: no commit is believed about that."""
        return is_ahead(decision.created_at, self._clock())
