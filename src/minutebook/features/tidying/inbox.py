"""The inbox: suggestions that wait for a person, and their settlement."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from minutebook.app import App
from minutebook.features.tidying.changing import SuggestedChanges
from minutebook.features.tidying.findings import FINDINGS, State, Suggestion, Topic
from minutebook.features.tidying.looking.examining import Examined, Examining
from minutebook.features.tidying.looking.state import visible_records
from minutebook.features.tidying.rows import TidyRows
from minutebook.features.undo.undo import Undo
from minutebook.memory.access.visibility import View
from minutebook.record import policy
from minutebook.record.caller import Caller, without_folder_scope
from minutebook.record.errors import Conflict, InvalidInput, NotFound, Refused
from minutebook.record.filters import default_organization
from minutebook.record.records import SYSTEM_ORGANIZATION, Kind, Record
from minutebook.record.trust.acts import REFUSE
from minutebook.record.trust.done_acts import DoneAct
from minutebook.record.trust.trail import UNDO

SUGGESTION = "suggestion"
"""The kind of record that errors name."""


@dataclass(frozen=True, slots=True)
class ShownSuggestion:
    """A suggestion as a reader sees it: its name, its records, and the finding on them as they are now.

    `examined` is None if it is settled, or its records changed so that nothing is suggested any more.
    """

    name: str
    suggestion: Suggestion
    records: tuple[Record, ...]
    examined: Examined | None


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of the open suggestions, and how many of each finding there are that the reader may see."""

    suggestions: list[ShownSuggestion]
    counts: Counter[Topic]


class Inbox:
    """Lists and settles suggestions; a reader sees those of which they may see every record."""

    def __init__(self, app: App) -> None:
        self._store = app.infrastructure.records
        self._rows = TidyRows(app.infrastructure.database)
        self._trail, self._clock = app.trail, app.clock
        self._examining, self._changes = app.get(Examining), app.get(SuggestedChanges)
        self._undo = app.get(Undo)

    def listing(
        self,
        caller: Caller,
        limit: int,
        offset: int = 0,
        kinds: frozenset[Topic] = frozenset(FINDINGS),
    ) -> Listing:
        """Return a page of the open suggestions with some findings, in the order of FINDINGS, with all counts."""
        counts = Counter[Topic]()
        seen: list[tuple[Topic, str, int]] = []
        for view in self._views(caller):
            for each in self._rows.everything(view.organization, State.OPEN):
                if visible_records(self._store, view, each) is None:
                    continue
                counts[each.finding] += 1
                if each.finding in kinds:
                    seen.append((each.finding, each.organization, each.number))
        seen.sort(key=lambda each: (FINDINGS.index(each[0]), each[1:]))
        page: list[ShownSuggestion] = []
        for _, organization, number in seen[offset:]:
            if len(page) == limit:
                break
            shown = self._shown(caller, organization, number)
            if shown is not None and shown.examined is not None:
                page.append(shown)
        return Listing(page, counts)

    def read(self, caller: Caller, name: str) -> ShownSuggestion:
        """Return a suggestion by its name, in any state. Raises NotFound if the caller may not see it."""
        organization, number = self._parse_name(caller, name)
        shown = self._shown(caller, organization, number)
        if shown is None or shown.suggestion.state is State.WAITING:
            raise NotFound(SUGGESTION, name)
        return shown

    def apply(self, caller: Caller, name: str) -> ShownSuggestion:
        """Make the suggested change.

        Raises NotFound, Forbidden to agents, Conflict if it is settled or its records changed since, and
        what the services of its records raise.
        """
        return self._apply(caller, self._read_open(caller, "apply", name))

    def refuse(self, caller: Caller, name: str) -> ShownSuggestion:
        """Refuse a suggestion for good: it is never made again.

        Raises NotFound, Forbidden to agents and to callers that may not write to its records, Conflict if it is settled.
        """
        shown = self._read_open(caller, "refuse", name)
        for record in shown.records:
            policy.check_may_write_to(caller, "refuse", record)  # type: ignore[arg-type]
        suggestion = shown.suggestion
        with self._settling(caller, suggestion, State.REFUSED):
            kind, id = suggestion.subjects[-1]
            self._trail.log(caller, suggestion.organization, REFUSE, kind, [id])
            if shown.examined is not None:
                self._changes.refuse(caller, shown.examined)
        return self.read(caller, name)

    def undo(self, caller: Caller, name: str) -> ShownSuggestion:
        """Take an applied or refused suggestion back: its records are as before, and it is open again.

        Raises NotFound, Forbidden to agents, Conflict if it is open or something else was done since.
        """
        shown = self._read_to_settle(caller, "undo", name)
        suggestion = shown.suggestion
        for record in shown.records:
            policy.check_may_write_to(caller, "undo", record)  # type: ignore[arg-type]
        if suggestion.state not in (State.APPLIED, State.REFUSED):
            raise Conflict(name, "it was neither applied nor refused")
        entries = _entries(suggestion)
        self._undo.take_back_entries(caller, suggestion.organization, entries, is_any=True)
        return self.read(caller, name)

    def reopen(self, caller: Caller, suggestions: Iterable[Suggestion]) -> None:
        """Open suggestions again after their records were put back."""
        for each in suggestions:
            with self._settling(caller, each, State.OPEN):
                kind, id = each.subjects[-1]
                self._trail.log(caller, each.organization, UNDO, kind, [id])
            self._undo.keep(each.organization, _entries(each), is_lasting=False)

    def forget(self, suggestion: Suggestion) -> None:
        """Let a settled suggestion be taken back no more: the images of its records go after a day."""
        self._undo.keep(suggestion.organization, _entries(suggestion), is_lasting=False)
        self._rows.put(replace(suggestion, first_entry=None, entry=None))

    def settled(self, act: DoneAct) -> list[Suggestion]:
        """Return the suggestions that an act settled, or opened again, as their state tells."""
        entries = [each.number for each in act.entries]
        found = self._rows.settled(act.last_entry.organization, entries)
        return [each for each in found if each.settled_by == act.last_entry.actor]

    def apply_by_rules(self, caller: Caller, rules: Mapping[Topic, float]) -> Counter[Topic]:
        """Apply the open suggestions that are certain enough for a rule, each only once; return how many of each finding."""
        applied = Counter[Topic]()
        for view in self._views(caller):
            for each in self._rows.everything(view.organization, State.OPEN):
                least = rules.get(each.finding)
                # One that was settled before was taken back by a person, or could not be applied.
                if least is None or each.certainty < least or each.settled_by:
                    continue
                shown = self._shown(caller, each.organization, each.number)
                if shown is None or shown.examined is None:
                    continue
                try:
                    self._apply(caller, shown)
                except (Refused, Conflict, NotFound):
                    # The refusal is in the trail; `settled_by` keeps the next round from trying again.
                    with self._settling(caller, each, State.OPEN):
                        pass
                else:
                    applied[each.finding] += 1
        return applied

    def _read_to_settle(self, caller: Caller, act: str, name: str) -> ShownSuggestion:
        """Return a suggestion to be settled by an act. Raises NotFound, Forbidden to agents."""
        with self._trail.audit_refusals(caller, None, act, Kind.MEMORY, name):
            policy.check_may_settle(caller, act)
        return self.read(caller, name)

    def _read_open(self, caller: Caller, act: str, name: str) -> ShownSuggestion:
        """Return an open suggestion to be settled by an act. Raises NotFound, Forbidden, Conflict if it is settled."""
        shown = self._read_to_settle(caller, act, name)
        if shown.suggestion.state is not State.OPEN:
            raise Conflict(name, "it is {state} already", state=shown.suggestion.state)
        return shown

    def _apply(self, caller: Caller, shown: ShownSuggestion) -> ShownSuggestion:
        """Apply an open suggestion. Raises Conflict if its records have changed since."""
        examined, suggestion = shown.examined, shown.suggestion
        if examined is None:
            raise Conflict(
                shown.name, "its records changed since; the next `minutebook tidy` looks again"
            )
        with self._settling(caller, suggestion, State.APPLIED):
            self._changes.make(caller, examined)
        settled = self._rows.numbered(suggestion.organization, suggestion.number)
        return replace(shown, suggestion=settled or suggestion, examined=None)

    @contextmanager
    def _settling(self, caller: Caller, suggestion: Suggestion, state: State) -> Iterator[None]:
        """Run the changes of settling in one transaction; then note the suggestion's state and the trail's entries."""
        organization = suggestion.organization
        with self._trail.audited_batch([organization]):
            before = self._trail.head(organization)
            yield
            head = self._trail.head(organization)
            settled = replace(
                suggestion,
                state=state,
                settled_at=self._clock(),
                settled_by=caller.name,
                first_entry=1 if before is None else before.number + 1,
                entry=None if head is None else head.number,
            )
            self._rows.put(settled)
            self._undo.keep(organization, _entries(settled), is_lasting=state is not State.OPEN)

    def _shown(self, caller: Caller, organization: str, number: int) -> ShownSuggestion | None:
        """Return a suggestion by its number; None if there is none or the caller may not see its records."""
        suggestion = self._rows.numbered(organization, number)
        if suggestion is None:
            return None
        view = self._store.seen_in(organization, without_folder_scope(caller))
        records = visible_records(self._store, view, suggestion)
        if records is None:
            return None
        is_open = suggestion.state is State.OPEN
        examined = self._examining.examine_again(suggestion) if is_open else None
        return ShownSuggestion(name_of(caller, suggestion), suggestion, records, examined)

    def _views(self, caller: Caller) -> list[View]:
        seen = self._store.seen_by(caller)
        return [each for each in seen if each.organization != SYSTEM_ORGANIZATION]

    def _parse_name(self, caller: Caller, name: str) -> tuple[str, int]:
        """Return the organization and number in the name of a suggestion, such as `12` or `12@acme`.

        Raises InvalidInput if it is no such name, NotFound if the caller does not see the organization.
        """
        number, at, organization = name.strip().partition("@")
        if (
            not number.isascii()
            or not number.isdecimal()
            or len(number) > 9
            or (at and not organization)
        ):
            remedy = "must be a number as `minutebook tidy` lists them (got {name!r})"
            raise InvalidInput("suggestion", remedy, name=name[:50])
        home = organization or default_organization(caller)
        if home not in self._store.seen_by(without_folder_scope(caller)).organizations:
            raise NotFound(SUGGESTION, name)
        return home, int(number)


def _entries(suggestion: Suggestion) -> range:
    """Return the numbers of the trail's entries by which a suggestion was settled; none if it was not."""
    if suggestion.first_entry is None or suggestion.entry is None:
        return range(0)
    return range(suggestion.first_entry, suggestion.entry + 1)


def name_of(caller: Caller, suggestion: Suggestion) -> str:
    """Return the name of a suggestion for a caller: its number, with the organization if that is not the caller's own."""
    is_home = suggestion.organization == default_organization(caller)
    number = str(suggestion.number)
    return number if is_home else f"{number}@{suggestion.organization}"
