"""Summarizes sessions, and reads and removes their summaries."""

import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from threading import Lock

from minutebook.memory.access.audit import EVERYTHING
from minutebook.memory.access.provenance import attribute
from minutebook.memory.infrastructure import Infrastructure
from minutebook.memory.journal.sessions import Sessions
from minutebook.memory.journal.summarizers import Summarizer, Summarizers
from minutebook.memory.journal.summary_draft import SummaryDraft
from minutebook.memory.record_writer import RecordWriter
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict, MinutebookError, NotFound, StoreClosed
from minutebook.record.filters import default_organization
from minutebook.record.listed import SummaryPage
from minutebook.record.origin import responsible_author
from minutebook.record.reason import count_of
from minutebook.record.records import SYSTEM_ORGANIZATION, Category, Kind, Summary, Turn
from minutebook.record.writing.turns import Session

log = logging.getLogger(__name__)

SUMMARIZE, FORGET = "summarize", "delete_summaries"
"""The acts on summaries."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A session that could not be summarised, and why."""

    session: Session
    error: MinutebookError


@dataclass(frozen=True, slots=True)
class Batch:
    """The results of summarising several sessions."""

    done: list[Summary]
    failed: list[Failed]


@dataclass(frozen=True, slots=True)
class Deleted:
    """The number of summaries removed, and of those kept because the caller may not remove them."""

    deleted: int
    kept: int


class Tally:
    """Counts of summarising since the process began; may be used from any thread.

    `made` counts summaries by summarizer, `failed` sessions that could not be summarised,
    `unanswered` models without a usable answer, so that another summarizer was asked.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self.made: Counter[str] = Counter()
        self.failed = 0
        self.unanswered = 0

    def count(self, *, made_by: str = "", failed: int = 0, unanswered: int = 0) -> None:
        """Add to the counts; `made_by` names the maker of one more summary."""
        with self._lock:
            if made_by:
                self.made[made_by] += 1
            self.failed += failed
            self.unanswered += unanswered


class Summaries:
    """The use cases around summaries."""

    def __init__(
        self, infrastructure: Infrastructure, sessions: Sessions, service: Summarizer | None
    ) -> None:
        self._store = infrastructure.records
        self._writer = RecordWriter[Summary](infrastructure)
        self._trail = infrastructure.trail
        self._locks = infrastructure.locks
        self._sessions = sessions
        self._service = service
        self._clock = infrastructure.clock
        self.tally = Tally()

    @property
    def is_built_in(self) -> bool:
        """Whether no external service makes summaries, which the owner may have to pay for."""
        return self._service is None

    def page(
        self, caller: Caller, limit: int, offset: int, category: Category | None = None
    ) -> SummaryPage:
        """Return a page of the summaries that the caller may see; with a category, those in it."""
        named = {} if category is None else {"category": category}
        seen = self._store.seen_by(caller).narrowed(**named)
        page = SummaryPage(*seen.listing(Summary, "-at", limit, offset))
        attribute(caller, page.summaries)
        return page

    def summary_of(self, session: Session) -> Summary | None:
        """Return the summary of a session that the caller may see, or None if there is none yet."""
        return self._store.summary(session)

    def summarize(self, caller: Caller, name: str) -> list[Summary]:
        """Summarise the session of a name anew, in each scope that has one; return the summaries.

        Raises NotFound if there is none, Refused if the caller may not write there, Conflict if another is summarising it.
        """
        found = self._sessions.all(caller, name)
        if not found:
            raise NotFound("session", name)
        own = [each for each in found if policy.may_write_to(caller, each)]
        for session in own or found:
            with self._trail.audit_refusals(
                caller, session.organization, SUMMARIZE, Kind.SUMMARY, name
            ):
                policy.check_may_write_to(caller, SUMMARIZE, session)
        summarizers = Summarizers(caller, self._service)
        return [
            self._summarise_and_count(caller, session, summarizers)
            for session in _with_progress(caller, own)
        ]

    def summarize_all(self, caller: Caller) -> Batch:
        """Summarise every session that has no summary or has grown since, oldest first.

        The connection's own session is left out, because it is being written. Each summary is written as soon
        as it is made, so an interrupted run continues at the next call. A session that fails does not stop
        the others. Raises Refused if the caller may not write.
        """
        self._check_may(caller, SUMMARIZE, default_organization(caller), EVERYTHING)
        waiting = [
            session
            for session in reversed(self._sessions.all(caller))
            if session.name != caller.call.session and self._is_due(caller, session)
        ]
        summarizers = Summarizers(caller, self._service)
        batch = Batch([], [])
        for session in _with_progress(caller, waiting):
            try:
                batch.done.append(self._summarise_and_count(caller, session, summarizers))
            except StoreClosed:
                raise
            except MinutebookError as error:
                batch.failed.append(Failed(session, error))
        return batch

    def delete_all(self, caller: Caller) -> Deleted:
        """Remove every summary that the caller may remove, in a transaction for each organization; return the numbers.

        An agent may remove those that it asked for itself. The system's summaries stay. Raises Refused if the caller may not write.
        """
        self._check_may(caller, FORGET, default_organization(caller), EVERYTHING)
        deleted, kept = 0, 0
        for view in self._store.seen_by(caller):
            if view.organization == SYSTEM_ORGANIZATION:
                continue
            with self._trail.audited(
                caller, view.organization, FORGET, Kind.SUMMARY, EVERYTHING
            ) as audit:
                removed = 0
                for summary in view.find(Summary):
                    if audit.may(summary) and policy.may_remove_work_of(
                        caller, responsible_author(summary.author, summary.origin)
                    ):
                        self._store.delete(Summary, view.organization, summary.id)
                        removed += 1
                    else:
                        kept += 1
                deleted += removed
                if not removed:
                    audit.changes_nothing()
        return Deleted(deleted, kept)

    def _check_may(self, caller: Caller, act: str, organization: str, subject: str) -> None:
        with self._trail.audit_refusals(caller, organization, act, Kind.SUMMARY, subject):
            policy.check_may_act(caller, act, organization)

    def _is_due(self, caller: Caller, session: Session) -> bool:
        """Tell whether the caller may summarise a session, and it has no summary or has changed since."""
        if not policy.may_write_to(caller, session):
            return False
        summary = self.summary_of(session)
        return (
            summary is None
            or summary.turn_count != session.turn_count
            # An imported summary has no last turn, so the number of turns must do.
            or summary.last_turn not in ("", self._last_turn(caller, session))
        )

    def _summarise_and_count(
        self, caller: Caller, session: Session, summarizers: Summarizers
    ) -> Summary:
        """Summarise a session; count and log the result."""
        try:
            summary = self._summarise(caller, session, summarizers)
        except MinutebookError as error:
            self.tally.count(failed=1)
            log.warning("a session could not be summarised: %s", type(error).__name__)
            raise
        self.tally.count(made_by=summary.made_by)
        turns = count_of(summary.turn_count, "turn")
        log.info("a session of %s was summarised by %s", turns, summary.made_by)
        return summary

    def _summarise(self, caller: Caller, session: Session, summarizers: Summarizers) -> Summary:
        """Make and write the summary of a session, under a lock of that session alone."""
        name = f"summary\0{session.organization}\0{session.summary_id}"
        with self._locks.hold(name) as is_held:
            if not is_held:
                raise Conflict(session.name, "it is being summarised already; try again")
            # Read before the turns, so that a turn which is added meanwhile makes the session due again.
            last_turn = self._last_turn(caller, session)
            turns = self._sessions.turns(caller, session)
            made = summarizers.summarise(lambda: turns.each(Turn, ["at"]), session.turn_count)
            self.tally.count(unanswered=made.failures)
            drafted = {each.name: getattr(made.draft, each.name) for each in fields(SummaryDraft)}
            summary = Summary(
                **drafted,
                organization=session.organization,
                id=session.summary_id,
                session=session.name,
                at=self._clock(),
                turn_count=session.turn_count,
                made_by=made.made_by,
                last_turn=last_turn,
                author=caller.name,
                repository=session.repository,
                user=session.user,
                origin=caller.call.origin,
            )
            return self._writer.write(caller, SUMMARIZE, summary)

    def _last_turn(self, caller: Caller, session: Session) -> str:
        found = self._sessions.turns(caller, session).find(Turn, order=["-at"], limit=1)
        if not found:
            raise NotFound("session", session.name)
        return found[0].id


def _with_progress(caller: Caller, sessions: list[Session]) -> Iterable[Session]:
    """Yield the sessions and report progress to the caller, which may cancel by raising."""
    for number, session in enumerate(sessions):
        caller.call.progress(number / len(sessions), session.name)
        yield session
