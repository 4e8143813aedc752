"""Judge the citations of records, again when code changes, keep the verdicts, and note them on hits."""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late

from minutebook.app import App
from minutebook.features.citations.cited import Judged
from minutebook.features.citations.citing import CITING, CitingRecord, CitingRecords
from minutebook.features.citations.following import Follower
from minutebook.features.citations.rows import CitationRows, JudgedRecord, RecordName
from minutebook.features.citations.telling import note_on, worst_of
from minutebook.features.citations.work_trees import Freshness, KnownTrees, known_trees, tree_around
from minutebook.memory.access.visibility import View
from minutebook.memory.jobs import Job
from minutebook.memory.search.hit_notes import HitNote, HitNoter
from minutebook.record.caller import Caller, without_folder_scope
from minutebook.record.errors import InvalidInput, StoreError
from minutebook.record.records import CLASSES, Decision, Key, Kind, Memory, Project, Record, Summary
from minutebook.store.values import Change

log = logging.getLogger(__name__)

PATIENCE = 2.0
"""Seconds that an answer waits for verdicts in a process that ends after it, so cannot judge later."""

WAIT = 0.1
"""Seconds that an answer of a server waits for verdicts."""

REST = 60.0
"""Seconds in which no answer waits for a work tree that took too long, or cannot be judged."""

AT_ONCE = 50
"""Earlier records that are judged in one batch."""


class Citations:
    """Judges the citations of records, in the background and for answers, one work tree at a time."""

    def __init__(self, app: App) -> None:
        self._store, self._records = app.infrastructure.store, app.infrastructure.records
        self._rows = CitationRows(app.infrastructure.database)
        self._citing = app.get(CitingRecords)
        self._follower = Follower(app.infrastructure, "citations", self._on_changes)
        self._judging = threading.Lock()
        self._pending: dict[tuple[str, str], Future[list[JudgedRecord]]] = {}
        self._resting: dict[str, float] = {}
        self._judged_earlier: set[tuple[str, str]] = set()
        self.wait = PATIENCE
        """Seconds that an answer waits for verdicts."""

    def notes(self, caller: Caller, records: Sequence[Record]) -> Mapping[Key, HitNote]:
        """Return the notes with the verdicts on records; none for those without citations, or without a work tree."""
        asked = defaultdict[str, list[Record]](list)
        for each in records:
            asked[each.organization].append(each)
        found: dict[Key, HitNote] = {}
        for organization, some in asked.items():
            citing = self._citing.citing_records(organization, some)
            view = self._records.seen_in(organization, without_folder_scope(caller))
            trees = known_trees(caller, view.find(Project))
            for row in self._current(organization, citing, trees):
                if row.judged:
                    found[organization, *row.name] = note_on(row.judged)
        return found

    def _current(
        self, organization: str, citing: Sequence[CitingRecord], trees: KnownTrees
    ) -> Iterator[JudgedRecord]:
        """Yield fresh verdicts on records; stale ones are judged anew, and left out if that takes too long."""
        kept = self._rows.rows_of(organization, {each.name for each in citing})
        wanted = []
        for each in citing:
            rows = kept.get(each.name, {})
            if (tree := trees.tree_of(each.repository, rows)) is not None:
                wanted.append((each, tree, rows.get(tree)))
        return self._fresh(organization, wanted)

    def _fresh(
        self,
        organization: str,
        wanted: Iterable[tuple[CitingRecord, str, JudgedRecord | None]],
    ) -> Iterator[JudgedRecord]:
        """Yield fresh verdicts, as `_current` does; `wanted` are records, each with its work tree and the verdict kept."""
        freshness, due = Freshness(), defaultdict[str, list[CitingRecord]](list)
        for each, tree, row in wanted:
            if row is not None and row.digest == each.digest and freshness.is_fresh(row):
                yield row
            elif row is not None or each.may_cite:
                due[tree].append(each)
        for tree, some in due.items():
            yield from self._in_time(organization, tree, some)

    def doubtful(self, caller: Caller, organization: str) -> set[RecordName]:
        """Return the records with citations that do not hold; those without a fresh verdict are judged first."""
        self._follower.follow(caller, organization)
        self._judge_stale(organization, self._rows.all(organization))
        return {each.name for each in self._rows.all(organization) if not each.holds}

    def settled_doubt(self, record: Memory | Decision | Summary) -> Judged | None:
        """Return the worst verdict on a record if it holds in none of its work trees, and commits made all the changes.

        A change that is in no commit may be work in progress. The summary of a session holds as long as any citation does.
        """
        organization = record.organization
        (citing,) = self._citing.citing_records(organization, [record])
        rows = self._rows.rows_of(organization, {citing.name}).get(citing.name, {})
        rows = {tree: row for tree, row in rows.items() if tree_around(tree) == tree}
        wanted = [(citing, tree, row) for tree, row in sorted(rows.items())]
        latest = {tree: row for tree, row in rows.items() if row.digest == citing.digest}
        latest |= {row.tree: row for row in self._fresh(organization, wanted)}
        judged = [row.judged for row in latest.values() if row.judged]
        if isinstance(record, Summary) and any(each.holds for some in judged for each in some):
            return None
        worst = [worst_of(each) for each in judged]
        return worst[0] if worst and all(each.since for each in worst) else None

    def _in_time(
        self, organization: str, tree: str, citing: Sequence[CitingRecord]
    ) -> list[JudgedRecord]:
        """Judge records in a thread; return them if that ends within `wait` seconds, else nothing."""
        key, now = (organization, tree), time.monotonic()
        if (pending := self._pending.get(key)) is None or pending.done():
            pending = self._pending[key] = Future()
            done = pending

            def judge() -> None:
                found: list[JudgedRecord] = []
                try:
                    found = self._judge(organization, tree, citing, self.wait / 4)
                except StoreError as error:
                    # The store may be closed: then nobody waits for the verdicts.
                    log.info("nothing that cites %s is judged: %s", tree, error)
                finally:
                    done.set_result(found)

            threading.Thread(target=judge, name="citations", daemon=True).start()
            if self._resting.get(tree, 0.0) <= now:
                try:
                    return pending.result(self.wait)
                except Late:
                    self._resting[tree] = now + REST
        return []

    def _judge(
        self, organization: str, tree: str, citing: Collection[CitingRecord], wait: float
    ) -> list[JudgedRecord]:
        """Judge records by a work tree and keep the verdicts; return none if Git or the files cannot be read.

        The verdicts are not kept if others write to the store for longer than `wait` seconds.
        """
        from minutebook.features.citations.judging_records import judged_by

        with self._judging:
            rows = self._rows.rows_of(organization, {each.name for each in citing})
            known = {name: by_tree[tree] for name, by_tree in rows.items() if tree in by_tree}
            try:
                whole = [self._citing.with_files(organization, each) for each in citing]
                judged = judged_by(tree, whole, known)
            except InvalidInput as error:
                log.info("nothing that cites %s is judged: %s", tree, error)
                self._resting[tree] = time.monotonic() + REST
                return []
        try:
            self._rows.put(organization, judged, wait)
        except StoreError as error:
            log.info("what cites %s is judged again when it is asked for: %s", tree, error)
        return judged

    def follow(self, caller: Caller) -> None:
        """Judge the records that were written, and those of projects that were indexed, since the last time."""
        for view in self._records.seen_by(without_folder_scope(caller)):
            self._follower.follow(caller, view.organization)

    def judge_anew(self, caller: Caller) -> None:
        """Remove all verdicts, and judge all records again."""
        for view in self._records.seen_by(without_folder_scope(caller)):
            self._rows.clear(view.organization)
            self._follower.begin_anew(view.organization)
        self.follow(caller)

    def _on_changes(self, caller: Caller, organization: str, changes: Sequence[Change]) -> None:
        """Judge the records that were written; if a project changed, also those that cite a tree and were judged before."""
        view = self._records.seen_in(organization, without_folder_scope(caller))
        trees = known_trees(caller, view.find(Project)).of_projects
        kinds = {cls.kind for cls in CITING}
        names = {(each.kind, each.id) for each in changes if each.kind in kinds}
        self._judge_written(organization, names, trees)
        if any(each.kind is Kind.PROJECT for each in changes):
            for repository, tree in trees.items():
                self._judge_stale(organization, self._rows.all(organization, tree))
                self._judge_earlier(view, repository, tree)

    def _judge_written(
        self, organization: str, names: Collection[RecordName], trees: Mapping[str | None, str]
    ) -> None:
        """Judge the records that are new or have changed since they were judged, and remove the verdicts on them."""
        kept = self._rows.rows_of(organization, names)
        citing = [
            each
            for each in self._read(organization, names)
            if any(row.digest != each.digest for row in kept.get(each.name, {}).values())
            or each.name not in kept
        ]
        self._rows.remove(organization, {each.name for each in citing} & kept.keys())
        self._judge_by_project(organization, trees, citing)

    def _judge_earlier(self, view: View, repository: str | None, tree: str) -> None:
        """Judge the memories and decisions that were written before their project was indexed, once in a process.

        It judges AT_ONCE at a time, so that answers, which judge, too, get their turn.
        """
        organization = view.organization
        if (organization, tree) in self._judged_earlier:
            return
        self._judged_earlier.add((organization, tree))
        of_project = view.narrowed(repository=repository)
        citing = self._citing.citing_records(
            organization, [*of_project.find(Memory), *of_project.find(Decision)]
        )
        kept = self._rows.rows_of(organization, {each.name for each in citing})
        due = [each for each in citing if each.may_cite and tree not in kept.get(each.name, {})]
        due.sort(key=lambda each: each.text.at)
        for start in range(0, len(due), AT_ONCE):
            self._judge(organization, tree, due[start : start + AT_ONCE], PATIENCE)

    def _judge_by_project(
        self, organization: str, trees: Mapping[str | None, str], citing: Iterable[CitingRecord]
    ) -> None:
        """Judge records, each in the tree of its repository; those without a tree are left out."""
        by_tree = defaultdict[str, list[CitingRecord]](list)
        for each in citing:
            if (tree := trees.get(each.repository)) and each.may_cite:
                by_tree[tree].append(each)
        for tree, some in by_tree.items():
            self._judge(organization, tree, some, PATIENCE)

    def _judge_stale(self, organization: str, rows: Iterable[JudgedRecord]) -> None:
        """Judge again the records whose verdicts are about changed files."""
        freshness, stale = Freshness(), defaultdict[str, list[RecordName]](list)
        for each in rows:
            if not freshness.is_fresh(each):
                stale[each.tree].append(each.name)
        for tree, names in stale.items():
            self._judge(organization, tree, self._read(organization, names), PATIENCE)

    def _read(self, organization: str, names: Iterable[RecordName]) -> list[CitingRecord]:
        found = (self._store.get(CLASSES[kind], organization, id) for kind, id in names)
        return self._citing.citing_records(organization, filter(None, found))


def notes(app: App) -> HitNoter:
    """Return the function that notes the verdicts on hits."""
    return app.get(Citations).notes


def jobs(app: App) -> Iterable[Job]:
    """Yield the job that judges new records, and those that cite changed code."""
    citations = app.get(Citations)
    citations.wait = WAIT
    yield Job("citations", citations.follow, "citations were not judged")


def judge_anew(app: App, caller: Caller) -> None:
    """Judge all citations again."""
    app.get(Citations).judge_anew(caller)
