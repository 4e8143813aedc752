"""Everything that can go wrong, as facts; each contract puts them into its own words.

MinutebookError
├── NotFound            no such record, or none that the caller may see
├── Conflict            the record is not as the request assumed
│   └── Decided         the target has an active decision already
├── Refused             the caller may not
│   ├── Forbidden       role or scope is not enough
│   ├── ScopeViolation  the scope named is not one that the caller is held to
│   ├── Locked          the record is locked
│   ├── UnderReview     the proposal may not be accepted yet
│   ├── WrongSecret     the secret is another one
│   └── GuessedTooOften  after wrong secrets the next one has to wait
├── WorkSpent           the call has used up its share of work
├── Unidentified        the caller is not identified
├── KeysUnavailable     the keys of a token's issuer cannot be read
├── InvalidInput        an argument is not what it must be
├── InvalidRoot         a path cannot be the root of a project
├── InvalidArchive      a file is no archive, or not whole
├── InBatch             the error of one act of a batch
├── Fault               a mistake of ours
├── StoreError          the store could not do its work
│   ├── StoreBusy       another process keeps the writer's lock
│   ├── StoreDamaged    its database cannot be read, or not all of it
│   │   └── StoreLost   its database is missing or empty
│   ├── StoreTooNew     written by a later version
│   ├── EncryptionKeyMissing   it is encrypted, and its key cannot be read
│   └── StoreClosed     used after close
├── LedgerError         the ledger could not be read or written
│   ├── LedgerBusy      another process kept it locked for too long
│   ├── LedgerDamaged   an object of Git is missing or damaged
│   └── LedgerBroken    it contradicts itself, or its history was changed
├── Unanswered          a model gave no usable text
├── AskedEnough         this call may not ask the client's model again
└── EmbeddingError
    ├── EmbeddingNotReady   the model is still loading, or failed to
    └── ModelUnavailable    the model cannot be opened or reached
"""

from dataclasses import dataclass, field, fields
from datetime import datetime
from http import HTTPStatus

from minutebook.record.reason import Reason, Word

_WORDS = {"act", "argument", "kind"}
"""The fields that hold a word of ours, which pages translate."""


@dataclass(eq=False)
class MinutebookError(Exception):
    """Anything that Minutebook refuses or fails to do; `str` gives the English sentence for it."""

    status = int(HTTPStatus.SERVICE_UNAVAILABLE)
    """The HTTP status of a page that shows it."""

    says = "{reason}"
    """The template of its sentence: `{field}` stands for the value of that field."""

    @property
    def sentence(self) -> Reason:
        """The obstacle, the act that it prevented, and the cause."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        for name in _WORDS & values.keys():
            values[name] = Word(values[name])
        return Reason(self.says, **values)

    def __str__(self) -> str:
        return self.sentence


@dataclass(eq=False)
class NotFound(MinutebookError):
    """No record with that id, or none that the caller may see."""

    status = HTTPStatus.NOT_FOUND
    says = "there is no {kind} {id}"
    kind: str
    id: str


@dataclass(eq=False)
class Conflict(MinutebookError):
    """The record is not as the request assumed."""

    status = HTTPStatus.CONFLICT
    says = "{id}: {reason}"
    id: str
    reason: Reason

    def __init__(self, id: str, reason: str, **values: object) -> None:
        self.id, self.reason = id, Reason(reason, **values)


@dataclass(eq=False)
class WorkSpent(MinutebookError):
    """The call has used up the work that one call may take; its results so far are kept."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    says = "{act} takes more work than one call may; ask for less of it at once, or run it at the machine of the store"
    act: str


@dataclass(eq=False)
class Decided(Conflict):
    """The target has an active decision, `id`; it can be superseded."""

    target: str


@dataclass(eq=False)
class Refused(MinutebookError):
    """The caller may not do this; `needs` names a role that may, where one would do."""

    status = HTTPStatus.FORBIDDEN
    says = "not allowed to {act}: {reason}"
    act: str
    reason: Reason
    needs: str | None = field(default=None, kw_only=True)

    def __init__(
        self, act: str, reason: str, *, needs: str | None = None, **values: object
    ) -> None:
        self.act, self.reason, self.needs = act, Reason(reason, **values), needs


class Forbidden(Refused):
    """The caller's role or scope is not enough for the act."""


class ScopeViolation(Refused):
    """The organization, repository or user named is not one that the caller may use."""


@dataclass(eq=False)
class Locked(Refused):
    """The record is locked; it can be changed only after an unlock."""

    says = "{id} stays as it is: {reason}"
    id: str


@dataclass(eq=False)
class UnderReview(Refused):
    """The proposal's review lasts until `opens`."""

    status = HTTPStatus.CONFLICT
    says = "{id}: {reason}; accept it from {opens:%Y-%m-%d %H:%M:%S} UTC on"
    id: str
    opens: datetime


class WrongSecret(Refused):
    """The secret is not the one that was set for this store."""


@dataclass(eq=False)
class GuessedTooOften(Refused):
    """Wrong secrets were given; the next one is checked from `opens` on."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    says = "{reason}; the next is looked at from {opens:%Y-%m-%d %H:%M:%S} UTC on"
    opens: datetime


@dataclass(eq=False)
class Unidentified(MinutebookError):
    """The caller is not identified. The caller may read `reason`; `is_given` tells whether a token came with the request."""

    status = HTTPStatus.UNAUTHORIZED
    reason: Reason
    is_given: bool = field(default=True, kw_only=True)

    def __init__(self, reason: str, *, is_given: bool = True, **values: object) -> None:
        self.reason, self.is_given = Reason(reason, **values), is_given


@dataclass(eq=False)
class KeysUnavailable(MinutebookError):
    """The keys of a token's issuer cannot be read; `remedy` says how to mend it."""

    says = "{reason}; {remedy}"
    reason: Reason
    remedy: Reason

    def __init__(self, reason: str, remedy: str, **values: object) -> None:
        self.reason, self.remedy = Reason(reason, **values), Reason(remedy, **values)


@dataclass(eq=False)
class InvalidInput(MinutebookError):
    """An argument is invalid; `remedy` describes valid values."""

    status = HTTPStatus.BAD_REQUEST
    says = "{argument} {remedy}"
    argument: str
    remedy: Reason

    def __init__(self, argument: str, remedy: str, **values: object) -> None:
        self.argument, self.remedy = argument, Reason(remedy, **values)


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
    """The error of one act in a batch of acts that go together; `index` counts from 0."""

    says = "[{index}]: {error}"
    index: int
    error: MinutebookError


@dataclass(eq=False)
class InvalidRoot(MinutebookError):
    """The path cannot be the root of a project; `reason` goes on from it: `does not exist`."""

    says = "{path} {reason}"
    path: str
    reason: Reason


@dataclass(eq=False)
class Fault(MinutebookError):
    """A mistake of ours in a request; the log tells more."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR
    says = (
        "Internal error in {act}. Nothing was changed. Please report it with the lines on stderr "
        "around request {request}."
    )
    act: str
    request: str


@dataclass(eq=False)
class StoreError(MinutebookError):
    """The store could not do its work."""

    reason: Reason

    def __init__(self, reason: str, **values: object) -> None:
        self.reason = Reason(reason, **values)


class StoreBusy(StoreError):
    """Another process kept the writer's lock longer than the wait allowed."""


@dataclass(eq=False)
class StoreDamaged(StoreError):
    """The database cannot be read, or not all of it.

    `what` names the damage alone, `reason` also the remedy.
    """

    what: Reason


class StoreLost(StoreDamaged):
    """The database is missing or empty, although a store was kept there."""


class StoreTooNew(StoreError):
    """A later version of Minutebook wrote this store."""


class EncryptionKeyMissing(StoreError):
    """Data is encrypted, and the key to read or write it cannot be found or kept."""


class StoreClosed(StoreError):
    """The store was used after it was closed."""


@dataclass(eq=False)
class LedgerError(MinutebookError):
    """The ledger could not be read or written; `remedy` says how to mend it. Nothing was changed."""

    says = "{reason}; {remedy}"
    reason: Reason
    remedy: Reason

    def __init__(self, reason: str, remedy: str, **values: object) -> None:
        self.reason, self.remedy = Reason(reason, **values), Reason(remedy, **values)


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
    """A model that was asked for a text gave no usable one; `reason` tells why."""

    reason: Reason

    def __init__(self, reason: str, **values: object) -> None:
        self.reason = Reason(reason, **values)


@dataclass(eq=False)
class AskedEnough(MinutebookError):
    """This call may not ask the client's model again, another may; `reason` says so."""

    reason: Reason


class EmbeddingError(MinutebookError):
    """A text cannot be embedded."""


@dataclass(eq=False)
class EmbeddingNotReady(EmbeddingError):
    """The model is still loading, or failed to load."""

    state: str
    reason: Reason

    @property
    def sentence(self) -> Reason:
        """The progress of loading the model, or the cause of its failure."""
        reason = self.reason or Reason("it is loading")
        if self.state == "loading":
            return Reason("the embedding model is not ready: {reason}", reason=reason)
        return Reason("the embedding model failed to load: {reason}", reason=reason)


@dataclass(eq=False)
class ModelUnavailable(EmbeddingError):
    """The model cannot be opened or reached; `remedy` says how to mend it."""

    says = "{reason}; {remedy}"
    reason: Reason
    remedy: Reason

    def __init__(self, reason: str, remedy: str, **values: object) -> None:
        self.reason, self.remedy = Reason(reason, **values), Reason(remedy, **values)
