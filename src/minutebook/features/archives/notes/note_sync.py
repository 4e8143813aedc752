"""Synchronizes a folder of Markdown notes with the store: edits on either side reach the other."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path, PurePosixPath

from minutebook.app import App
from minutebook.features.archives.notes import note_form
from minutebook.features.archives.notes.note_folder import (
    TABLE,
    AgreedFile,
    NoteFolder,
    agreed_on,
    digest_of_memory,
    watch_notes,
)
from minutebook.features.archives.notes.note_text import NoteText, draft_of, edits, parsed
from minutebook.features.archives.notes.organization_notes import OrganizationNotes
from minutebook.memory.infrastructure import Infrastructure
from minutebook.memory.intake import REMOVED_HERE, WRITTEN, IntakeReport, Outcome, Removals, Verdict
from minutebook.memory.knowledge.memories import Memories
from minutebook.record import policy
from minutebook.record.caller import Caller, with_call
from minutebook.record.control_characters import is_blank
from minutebook.record.errors import (
    Conflict,
    EmbeddingNotReady,
    InvalidInput,
    MinutebookError,
    NotFound,
    Refused,
    StoreBusy,
)
from minutebook.record.filters import default_organization
from minutebook.record.ids import derived_id
from minutebook.record.instants import rfc3339
from minutebook.record.reason import count_of
from minutebook.record.records import Kind, Memory
from minutebook.record.writing.source_drafts import SourcePlace, UnreadPart

log = logging.getLogger(__name__)

ACT = "notes"


class Deletion(StrEnum):
    """The treatment of a memory with a deleted note: asked again, written anew, or forgotten."""

    ASK = "ask"
    KEEP = "keep"
    FORGET = "forget"


Decide = Callable[[str, str], Deletion]
"""Decides about a deleted note, given its name and the label of its memory; ASK leaves it open."""


@dataclass(slots=True)
class NotesReport(IntakeReport):
    """The results of a run, by the names of notes; notes that are left out stay as they were."""

    taken: list[str] = field(default_factory=list)
    """Notes whose edits were taken into the store."""
    added: list[str] = field(default_factory=list)
    """Notes that became memories."""
    forgotten: list[str] = field(default_factory=list)
    """Deleted notes whose memories were forgotten."""
    open: list[str] = field(default_factory=list)
    """Deleted notes about which nobody has decided yet."""
    written: list[str] = field(default_factory=list)
    """Files that were written or removed because the store changed."""
    conflicts: list[tuple[str, str]] = field(default_factory=list)
    """Notes that were edited on both sides, each with the file that has its text."""

    def note_of(self, name: str, verdict: Verdict) -> None:
        """Count the verdict on a note."""
        self.note(verdict, Kind.MEMORY, SourcePlace(name))
        if verdict.outcome in WRITTEN:
            (self.added if verdict.outcome is Outcome.NEW else self.taken).append(name)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to report."""
        parts = (self.taken, self.added, self.forgotten, self.open, self.written, self.conflicts)
        return not any((*parts, self.left_out))


class NoteSync:
    """Synchronizes a folder with the store, by their last agreed state."""

    def __init__(self, app: App) -> None:
        self._infrastructure = app.infrastructure
        self._trail, self._memories = app.trail, app.memories

    def run(
        self, caller: Caller, folder: Path, decide: Decide, *, again: bool = False
    ) -> NotesReport:
        """Take in the edits in a folder, then write the changes of the store; return a report.

        Memories that acts naming them removed are not taken in, unless `again`.

        Raises Refused if the caller may not write, InvalidInput if the folder does not fit, StoreBusy if
        another process synchronizes it, StoreError if a file cannot be written.
        """
        with self._trail.audit_refusals(caller, None, ACT, Kind.MEMORY, str(folder)):
            policy.check_may_export(caller, whole=False)
        with self._infrastructure.locks.hold(f"notes\0{folder}", 5.0) as held:
            if held is None:
                raise StoreBusy("another process keeps {folder} in step", folder=folder)
            notes = NoteFolder(folder)
            work = _Run(self._infrastructure, self._memories, caller, notes, decide, again=again)
            return work.run()

    def watch(
        self,
        caller: Caller,
        folder: Path,
        decide: Decide,
        report: Callable[[NotesReport], None],
        stop: threading.Event,
    ) -> None:
        """Run whenever a note or the store changes, until `stop` is set; `report` gets each report.

        Raises as `run` does.
        """
        report(self.run(caller, folder, decide))
        seen = self._sequences(caller)
        for is_changed in watch_notes(folder, stop):
            if is_changed or self._sequences(caller) != seen:
                try:
                    report(self.run(caller, folder, decide))
                except (StoreBusy, EmbeddingNotReady) as error:
                    # The edits are still there, so the next look finds them.
                    log.warning("%s is looked at again: %s", folder, error)
                    seen = {}
                    continue
                seen = self._sequences(caller)

    def _sequences(self, caller: Caller) -> dict[str, int]:
        store = self._infrastructure.records
        return {name: store.sequence(name) for name in store.seen_by(caller).organizations}


class _Run:
    """One run: first the edits in the folder, then those in the store."""

    def __init__(
        self,
        infrastructure: Infrastructure,
        memories: Memories,
        caller: Caller,
        folder: NoteFolder,
        decide: Decide,
        *,
        again: bool,
    ) -> None:
        self._again = again
        self._removals = Removals(infrastructure)
        self._store = infrastructure.records
        self._trail = infrastructure.trail
        self._clock = infrastructure.clock
        self._memories = memories
        self._caller = caller
        self._folder = folder
        self._decide = decide
        self._files = folder.files()
        self._untouched: set[str] = set()
        self._taken: dict[str, str] = {}
        self._dismissed: set[tuple[str, str]] = set()
        self.report = NotesReport()

    def run(self) -> NotesReport:
        """Take in the folder's edits, write the store's, and store the agreed state; return the report."""
        self._read_folder()
        self._write_folder()
        self._folder.save()
        self.report.written = sorted({*self._folder.written, *self._folder.removed})
        if self.report.written:
            home = default_organization(self._caller)
            what = f"wrote {count_of(len(self.report.written), 'file')} below {self._folder.root}"
            self._trail.log(self._caller, home, ACT, Kind.MEMORY, [what])
        return self.report

    # Edits in the folder

    def _read_folder(self) -> None:
        """Take in the notes that changed since they were agreed on, and settle deleted ones."""
        by_path = {each.path: each for each in self._folder.agreed.values()}
        moved: dict[str, list[tuple[str, NoteText]]] = {}
        for name, digest in self._files.items():
            agreed = by_path.get(name)
            if agreed is not None and agreed.file == digest:
                continue
            if agreed is not None and agreed.kind != "memory":
                self._leave(
                    name,
                    f"it shows a {agreed.kind}, which notes do not change; delete it to have it written anew",
                )
                continue
            try:
                note = parsed(self._folder.read(name), agreed.links if agreed else ())
            except InvalidInput as error:
                self._leave(name, f"it {error.remedy}")
                continue
            if note.unread is not None:
                if agreed is not None and note.id is None:
                    self._leave(name, note.unread)
                    continue
                self.report.leave_out(UnreadPart(SourcePlace(name), note.unread))
            if agreed is not None and note.id == agreed.id:
                self._edited(name, digest, note, agreed)
                continue
            if agreed is not None and agreed.file:
                # The file is another record's now; the record that it was for gets a new file.
                del self._folder.agreed[agreed.key]
            if note.id is not None:
                moved.setdefault(note.id, []).append((name, note))
            elif note.kind is None:
                self._take_in(name, digest, note, derived_id(digest, self._folder.id, name))
            elif note.kind != "conflict":
                self._leave(name, f"it is the note of a {note.kind}, which notes do not bring in")
        for id, found in moved.items():
            self._moved(id, found)
        self._deleted()

    def _moved(self, id: str, found: list[tuple[str, NoteText]]) -> None:
        """Take in notes with a memory's id that are at another path than agreed, or were never agreed on."""
        known = [
            each for each in self._folder.agreed.values() if each.kind == "memory" and each.id == id
        ]
        if len(found) > 1 or any(each.path in self._files for each in known):
            for name, _ in found:
                self._leave(
                    name,
                    f"another note has its id {id} too; remove the line `id` to make it a memory of its own",
                )
            self._untouched.update(each.path for each in known if each.path not in self._files)
            self._dismissed.update(each.key for each in known)
            return
        ((name, note),) = found
        digest = self._files[name]
        if known:
            agreed = replace(known[0], path=name)
            self._folder.agreed[agreed.key] = agreed
            if agreed.file != digest:
                note = parsed(self._folder.read(name), agreed.links)
                self._edited(name, digest, note, agreed)
            return
        memory = self._memory(id)
        if memory is None:
            if self._was_removed(id):
                self._take_in(name, digest, note, id)
            else:
                reason = f"there is no memory {id}; remove the line `id` to make it a new one"
                self._leave(name, reason)
            return
        # The folder was exported: the memory is unchanged if its last change is that in the note.
        is_same_age = note.fields.get("updated") == rfc3339(memory.updated_at)
        record = digest_of_memory(memory) if is_same_age else ""
        links = [line for line in note.tail if line.startswith("- ") and line.endswith("]]")]
        agreed = AgreedFile("memory", memory.organization, id, name, "", record, links)
        self._edited(
            name, digest, replace(note, tail=tuple(e for e in note.tail if e not in links)), agreed
        )

    def _edited(self, name: str, digest: str, note: NoteText, agreed: AgreedFile) -> None:
        """Take in an edited note; keep it aside if its memory was removed, or changed too."""
        memory = self._memory(agreed.id)
        if memory is None and self._again and self._was_removed(agreed.id):
            self._take_in(name, digest, note, agreed.id)
            return
        if memory is None:
            self._set_aside(name, digest, agreed)
            return
        found = edits(note, parsed(note_form.memory_note(memory, ()).encode(), ()))
        if not found.changes:
            self._taken[name] = digest
        elif agreed.record != digest_of_memory(memory):
            self._conflict(name, digest, agreed)
            return
        else:
            if is_blank(note.whole):
                self._leave(name, "it is empty; delete it to forget the memory")
                return
            caller = with_call(self._caller, reason=f"edited in {name}")
            if not self._attempt(
                name, lambda: self._memories.update(caller, memory.id, found.changes)
            ):
                return
            self._taken[name] = digest
            self.report.note_of(name, Verdict(Outcome.CHANGED))
        if found.ignored:
            reason = f"{', '.join(found.ignored)}: commands change that, notes do not"
            self.report.leave_out(UnreadPart(SourcePlace(name), reason))
        self._folder.agreed[agreed.key] = agreed

    def _conflict(self, name: str, digest: str, agreed: AgreedFile) -> None:
        """Keep a copy of an edited note whose memory changed, too; the note itself is written anew."""
        copy = self._copy_note(name, digest, agreed.id)
        self.report.conflicts.append((name, copy))
        self._folder.agreed[agreed.key] = replace(agreed, conflict=copy)
        self._taken[name] = digest

    def _set_aside(self, name: str, digest: str, agreed: AgreedFile) -> None:
        """Keep a copy of an edited note whose memory was removed, and remove the note."""
        self.report.conflicts.append((name, self._copy_note(name, digest, agreed.id)))
        self._folder.remove(agreed, digest)

    def _copy_note(self, name: str, digest: str, id: str) -> str:
        """Write the note of a conflict with a note's text beside it; return its path."""
        day = f"{self._clock():%Y-%m-%d}"
        path = PurePosixPath(name)
        copy = str(path.with_name(f"{path.stem}.conflict-{day}-{digest[:8]}.md"))
        text = self._folder.read(name).decode("utf-8-sig")
        self._folder.write_if_missing(copy, note_form.conflict_note(id, name, text).encode())
        return copy

    def _take_in(self, name: str, digest: str, note: NoteText, id: str) -> None:
        """Create a memory from a note; its id is the same if an earlier run was killed."""
        if is_blank(note.whole):
            return
        here = self._memory(id)
        if here is None and not self._again and self._was_removed(id):
            self._leave(name, REMOVED_HERE, Outcome.REMOVED)
            return
        caller = with_call(self._caller, reason=f"written in {name}")
        if here is None and not self._attempt(
            name, lambda: self._memories.write(caller, draft_of(note, name, id))
        ):
            return
        memory = self._memory(id)
        if memory is not None:
            self.report.note_of(name, Verdict(Outcome.NEW))
            self._taken[name] = digest
            self._folder.agreed[memory.organization, id] = AgreedFile(
                "memory", memory.organization, id, name
            )

    def _deleted(self) -> None:
        """Decide about the memories of deleted notes."""
        for key, agreed in list(self._folder.agreed.items()):
            if agreed.path in self._files or key in self._dismissed or agreed.kind == TABLE:
                continue
            if agreed.kind != "memory":
                del self._folder.agreed[key]
                continue
            memory = self._memory(agreed.id)
            if memory is None:
                del self._folder.agreed[key]
                continue
            if agreed.record != digest_of_memory(memory):
                reason = "it was deleted here and its memory was changed: it is written anew"
                self.report.leave_out(UnreadPart(SourcePlace(agreed.path), reason))
                self._folder.agreed[key] = replace(agreed, file="")
                continue
            match self._decide(agreed.path, note_form.memory_label(memory)):
                case Deletion.KEEP:
                    self._folder.agreed[key] = replace(agreed, file="")
                case Deletion.FORGET:
                    caller = with_call(self._caller, reason=f"its note {agreed.path} was deleted")
                    if self._attempt(
                        agreed.path, partial(self._memories.remove, caller, memory.id)
                    ):
                        del self._folder.agreed[key]
                        self.report.forgotten.append(agreed.path)
                case Deletion.ASK:
                    self.report.open.append(agreed.path)
                    self._dismissed.add(key)

    # Changes in the store

    def _write_folder(self) -> None:
        """Write the notes that differ from the store, and remove those of records that are gone."""
        known = dict(self._folder.agreed)
        with self._store.seen_by(self._caller).moments() as moments:
            for moment in moments:
                named = OrganizationNotes(moment, self._folder.paths_in(moment.organization))
                for memory, name, links in named.memories():
                    key = (memory.organization, memory.id)
                    self._folder.expected_keys.add(key)
                    if key not in self._dismissed:
                        self._write(memory, name, links, known.get(key))
                for shown, pieces in named.others():
                    self._folder.write(shown, pieces)
        self._folder.remove_others(
            lambda each: each.kind != TABLE and each.path not in self._untouched
        )

    def _write(
        self,
        memory: Memory,
        name: str,
        links: Sequence[tuple[str, note_form.Target]],
        agreed: AgreedFile | None,
    ) -> None:
        if agreed is None and self._files.get(name):
            # A file that is not ours has the name.
            name = f"{name.removesuffix('.md')}-{memory.id}.md"
        if name in self._untouched:
            return
        conflict = None if agreed is None else agreed.conflict
        if conflict is not None and not self._folder.is_there(conflict):
            conflict = None
        conflict_name = None if conflict is None else PurePosixPath(conflict).name
        content = note_form.memory_note(memory, links, conflict_name).encode()
        state = agreed_on(memory, name, links, conflict)
        self._folder.write(state, [content], self._taken.get(name, ""))

    # Both

    def _memory(self, id: str) -> Memory | None:
        try:
            return self._memories.read(self._caller, id)
        except NotFound:
            return None

    def _attempt(self, name: str, act: Callable[[], object]) -> bool:
        """Do an act on a memory; if it is refused, report why and leave the note as it is. Tell whether it was done."""
        try:
            act()
        except (Refused, InvalidInput, Conflict, NotFound) as error:
            self._leave(name, _reason(error))
            return False
        return True

    def _was_removed(self, id: str) -> bool:
        try:
            here = self._memories.read_any(self._caller, id)
        except NotFound:
            here = None
        homes = self._store.seen_by(self._caller).organizations
        return any(self._removals.has_removed(Kind.MEMORY, home, id, here) for home in homes)

    def _leave(self, name: str, reason: str, outcome: Outcome = Outcome.LEFT_OUT) -> None:
        self._untouched.add(name)
        self.report.note_of(name, Verdict(outcome, reason))


def _reason(error: MinutebookError) -> str:
    reason = getattr(error, "reason", None)
    return f"not taken: {reason}" if isinstance(reason, str) else str(error)
