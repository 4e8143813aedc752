"""Everything that can go wrong, as facts; each contract puts them into its own words.

MinutebookError
├── NotFound            no such record, or none that the caller may see
├── Conflict            the record is not as the request supposed
│   └── Decided         the target has an active decision already
├── Refused             the caller may not
│   ├── Forbidden       role or scope is not enough
│   ├── ScopeViolation  the scope named is not one that the caller is held to
│   ├── Locked          the record is locked
│   ├── UnderReview     the proposal may not be accepted yet
│   ├── WrongSecret     the secret is another one
│   └── GuessedTooOften  no guess of the secret is looked at yet
├── Unidentified        nobody knows who asks
├── KeysUnavailable     the keys of who signs tokens cannot be had
├── InvalidInput        an argument is not what it must be
├── InvalidRoot         a path cannot be the root of a project
├── InvalidArchive      a file is no archive, or not whole
├── InBatch             what stood in the way of one of several acts that go together
├── Fault               a mistake of ours
├── StoreError          the store could not do its work
│   ├── StoreBusy       another process keeps the writer's lock
│   ├── StoreDamaged    its database cannot be read, or not all of it
│   │   └── StoreLost   its database is missing or empty
│   ├── StoreTooNew     written by a later version
│   ├── EncryptionKeyMissing   it is encrypted, and its key cannot be had
│   └── StoreClosed     used after close
├── LedgerError         the ledger could not be read or written
│   ├── LedgerBusy      others kept it for too long
│   ├── LedgerDamaged   an object of Git is missing or damaged
│   └── LedgerBroken    it contradicts itself, or its history was changed
├── Unanswered          a model that was asked for a text gave none of use
├── AskedEnough         the client's model is not asked again in this call
└── EmbeddingError
    ├── EmbeddingNotReady   the model is still loading, or failed to
    └── ModelUnavailable    the model cannot be had
"""

from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus

from minutebook.domain.reason import Reason, Word


@dataclass(eq=False)
class MinutebookError(Exception):
    """Anything that Minutebook refuses or fails to do; `str` gives the English sentence for it."""

    status = int(HTTPStatus.SERVICE_UNAVAILABLE)
    """The HTTP status of a page that shows it."""

    @property
    def sentence(self) -> Reason:
        """What stood in the way, to what, and why."""
        return Reason(type(self).__name__)

    def __str__(self) -> str:
        return self.sentence


@dataclass(eq=False)
class NotFound(MinutebookError):
    """No record with that id, or none that the caller may see."""

    status = HTTPStatus.NOT_FOUND
    kind: str
    id: str

    @property
    def sentence(self) -> Reason:
        """Which record is not there."""
        return Reason("there is no {kind} {id}", kind=Word(self.kind), id=self.id)


@dataclass(eq=False)
class Conflict(MinutebookError):
    """The record is not as the request supposed."""

    status = HTTPStatus.CONFLICT
    id: str
    reason: Reason

    def __init__(self, id: str, reason: str, **values: object) -> None:
        self.id, self.reason = id, Reason(reason, **values)

    @property
    def sentence(self) -> Reason:
        """How the record is."""
        return Reason("{id}: {reason}", id=self.id, reason=self.reason)


@dataclass(eq=False)
class Decided(Conflict):
    """The target has an active decision, `id`; it can be superseded."""

    target: str


@dataclass(eq=False)
class Refused(MinutebookError):
    """The caller may not do this; `needs` names a role that may, where one would do."""

    status = HTTPStatus.FORBIDDEN
    act: str
    reason: Reason
    needs: str | None = field(default=None, kw_only=True)

    def __init__(
        self, act: str, reason: str, *, needs: str | None = None, **values: object
    ) -> None:
        self.act, self.reason, self.needs = act, Reason(reason, **values), needs

    @property
    def sentence(self) -> Reason:
        """What may not be done, and why."""
        return Reason("not allowed to {act}: {reason}", act=Word(self.act), reason=self.reason)


class Forbidden(Refused):
    """The caller's role or scope is not enough for the act."""


class ScopeViolation(Refused):
    """The organization, repository or user named is not one that the caller may use."""


@dataclass(eq=False)
class Locked(Refused):
    """The record is locked; it can be changed only after an unlock."""

    id: str

    @property
    def sentence(self) -> Reason:
        """Which record is locked."""
        return Reason("{id} stays as it is: {reason}", id=self.id, reason=self.reason)


@dataclass(eq=False)
class UnderReview(Refused):
    """The proposal's review lasts until `opens`."""

    status = HTTPStatus.CONFLICT
    id: str
    opens: datetime

    @property
    def sentence(self) -> Reason:
        """From when on it can be accepted."""
        template = "{id}: {reason}; accept it from {opens:%Y-%m-%d %H:%M:%S} UTC on"
        return Reason(template, id=self.id, reason=self.reason, opens=self.opens)


class WrongSecret(Refused):
    """The secret is not the one that was set for this store."""


@dataclass(eq=False)
class GuessedTooOften(Refused):
    """Wrong secrets were given; the next one is looked at from `opens` on."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    opens: datetime

    @property
    def sentence(self) -> Reason:
        """From when on a secret is looked at again."""
        template = "{reason}; the next is looked at from {opens:%Y-%m-%d %H:%M:%S} UTC on"
        return Reason(template, reason=self.reason, opens=self.opens)


@dataclass(eq=False)
class Unidentified(MinutebookError):
    """Nobody knows who asks; `reason` may be told them. `is_given`: they showed something."""

    status = HTTPStatus.UNAUTHORIZED
    reason: Reason
    is_given: bool = field(default=True, kw_only=True)

    def __init__(self, reason: str, *, is_given: bool = True, **values: object) -> None:
        self.reason, self.is_given = Reason(reason, **values), is_given

    @property
    def sentence(self) -> Reason:
        """Why nobody is known."""
        return self.reason


@dataclass(eq=False)
class KeysUnavailable(MinutebookError):
    """The keys of who signs tokens cannot be read; `remedy` says what to do."""

    reason: Reason
    remedy: Reason

    def __init__(self, reason: str, remedy: str, **values: object) -> None:
        self.reason, self.remedy = Reason(reason, **values), Reason(remedy, **values)

    @property
    def sentence(self) -> Reason:
        """What is wrong, and what to do."""
        return Reason("{reason}; {remedy}", reason=self.reason, remedy=self.remedy)


@dataclass(eq=False)
class InvalidInput(MinutebookError):
    """An argument is not what it must be; `remedy` says what it must be."""

    status = HTTPStatus.BAD_REQUEST
    argument: str
    remedy: Reason

    def __init__(self, argument: str, remedy: str, **values: object) -> None:
        self.argument, self.remedy = argument, Reason(remedy, **values)

    @property
    def sentence(self) -> Reason:
        """What the argument must be."""
        return Reason("{argument} {remedy}", argument=Word(self.argument), remedy=self.remedy)


@dataclass(eq=False)
class InvalidArchive(MinutebookError):
    """The file cannot be read as an archive or backup: at this line, counted from 1, for this reason.

    Nothing was changed.
    """

    path: str
    reason: Reason
    line: int | None = None

    def __init__(self, path: str, reason: str, line: int | None = None, **values: object) -> None:
        self.path, self.reason, self.line = path, Reason(reason, **values), line

    @property
    def sentence(self) -> Reason:
        """Where the file is wrong, and why."""
        where: str = self.path
        if self.line is not None:
            where = Reason("{path}, line {line}", path=self.path, line=self.line)
        return Reason("{where}: {reason}. Nothing was changed", where=where, reason=self.reason)


@dataclass(eq=False)
class InBatch(MinutebookError):
    """What stood in the way of one of several acts that go together; `index` counts from 0."""

    index: int
    error: MinutebookError

    @property
    def sentence(self) -> Reason:
        """Which act, and what stood in its way."""
        return Reason("[{index}]: {error}", index=self.index, error=self.error.sentence)


@dataclass(eq=False)
class InvalidRoot(MinutebookError):
    """The path cannot be the root of a project; `reason` goes on from it: `does not exist`."""

    path: str
    reason: Reason

    @property
    def sentence(self) -> Reason:
        """Which path, and why."""
        return Reason("{path} {reason}", path=self.path, reason=self.reason)


@dataclass(eq=False)
class Fault(MinutebookError):
    """A mistake of ours in a request; the log tells more."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR
    act: str
    request: str

    @property
    def sentence(self) -> Reason:
        """Where it happened, and what to report."""
        return Reason(
            "Internal error in {act}. Nothing was changed. Please report it with the lines on stderr around "
            "request {request}.",
            act=self.act,
            request=self.request,
        )


@dataclass(eq=False)
class StoreError(MinutebookError):
    """The store could not do its work."""

    reason: Reason

    def __init__(self, reason: str, **values: object) -> None:
        self.reason = Reason(reason, **values)

    @property
    def sentence(self) -> Reason:
        """Why it could not."""
        return self.reason


class StoreBusy(StoreError):
    """Another process kept the writer's lock longer than the wait allowed."""


@dataclass(eq=False)
class StoreDamaged(StoreError):
    """The database cannot be read, or not all of it.

    `what` says that alone, `reason` also what helps.
    """

    what: Reason


class StoreLost(StoreDamaged):
    """The database is missing or empty, although a store was kept there."""


class StoreTooNew(StoreError):
    """A later version of Minutebook wrote this store."""


class EncryptionKeyMissing(StoreError):
    """What is to be read or written is encrypted, and the key cannot be found or kept."""


class StoreClosed(StoreError):
    """The store was used after it was closed."""


@dataclass(eq=False)
class LedgerError(MinutebookError):
    """The ledger could not be read or written; `remedy` says what to do. Nothing was changed."""

    reason: Reason
    remedy: Reason

    def __init__(self, reason: str, remedy: str, **values: object) -> None:
        self.reason, self.remedy = Reason(reason, **values), Reason(remedy, **values)

    @property
    def sentence(self) -> Reason:
        """What is wrong, and what to do."""
        return Reason("{reason}; {remedy}", reason=self.reason, remedy=self.remedy)


class LedgerBusy(LedgerError):
    """Others kept writing, or held a lock, for longer than the wait allowed."""


@dataclass(eq=False)
class LedgerDamaged(LedgerError):
    """A Git object of the ledger is missing or damaged; `object` is its id."""

    object: str


@dataclass(eq=False)
class LedgerBroken(LedgerError):
    """The ledger contradicts itself, or its history was changed; `ids` are those concerned."""

    ids: tuple[str, ...]


@dataclass(eq=False)
class Unanswered(MinutebookError):
    """A model that was asked for a text gave none of use; `reason` tells why."""

    reason: Reason

    def __init__(self, reason: str, **values: object) -> None:
        self.reason = Reason(reason, **values)

    @property
    def sentence(self) -> Reason:
        """Why there is no text."""
        return self.reason


@dataclass(eq=False)
class AskedEnough(MinutebookError):
    """The client's model is not asked again in this call; in another it is. `reason` says so."""

    reason: Reason

    @property
    def sentence(self) -> Reason:
        """Why it is not asked again."""
        return self.reason


class EmbeddingError(MinutebookError):
    """No vector can be had for a text."""


@dataclass(eq=False)
class EmbeddingNotReady(EmbeddingError):
    """The model is still loading, or failed to load."""

    state: str
    reason: Reason

    @property
    def sentence(self) -> Reason:
        """How far the model is, or why it failed."""
        reason = self.reason or Reason("it is loading")
        if self.state == "loading":
            return Reason("the embedding model is not ready: {reason}", reason=reason)
        return Reason("the embedding model failed to load: {reason}", reason=reason)


@dataclass(eq=False)
class ModelUnavailable(EmbeddingError):
    """The model cannot be opened or reached; `remedy` says what to do."""

    reason: Reason
    remedy: Reason

    def __init__(self, reason: str, remedy: str, **values: object) -> None:
        self.reason, self.remedy = Reason(reason, **values), Reason(remedy, **values)

    @property
    def sentence(self) -> Reason:
        """What is wrong, and what to do."""
        return Reason("{reason}; {remedy}", reason=self.reason, remedy=self.remedy)
