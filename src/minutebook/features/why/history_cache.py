"""A cache of the histories of lines that questions name."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future

import pygit2

from minutebook.features.citations.trees import UNREADABLE, Blobs
from minutebook.features.why.line_history import LineRange, history_of
from minutebook.features.why.telling import read_history

MOST, WAITING = 200, 16
"""Histories that are kept, and those that are read or wait for it at a time."""


class HistoryCache:
    """Reads each history once, in a thread of its own, one after the other: a question waits for it, and the next one finds it."""

    def __init__(self, commits: int) -> None:
        """Stop each history at so many commits that say why."""
        self._commits = commits
        self._guard, self._turn = threading.Lock(), threading.Lock()
        self._read: dict[tuple[str, str, LineRange], Future[Sequence[str]]] = {}

    def of(self, repository: pygit2.Repository, lines: LineRange, wait: float) -> Sequence[str]:
        """Return the ids of the last commits that changed lines.

        Raises TimeoutError if reading them takes longer than some seconds, or too many wait for it already, one of UNREADABLE if the
        repository is broken.
        """
        head = repository.head.peel(pygit2.Commit)
        key = (repository.path, str(head.id), lines)
        with self._guard:
            future = self._read.get(key)
            if future is None:
                if sum(not each.done() for each in self._read.values()) >= WAITING:
                    raise TimeoutError
                if len(self._read) >= MOST:
                    del self._read[next(iter(self._read))]
                future = self._read[key] = Future()
                threading.Thread(
                    target=self._run, args=(future, *key), name="line history", daemon=True
                ).start()
        return future.result(max(0.0, wait))

    def _run(self, future: Future[Sequence[str]], path: str, head: str, lines: LineRange) -> None:
        with self._turn:
            try:
                repository = pygit2.Repository(path)
                commit = repository[head].peel(pygit2.Commit)
                history = history_of(Blobs(repository), commit, lines)
                commits, _ = read_history(history, self._commits)
                future.set_result([str(each.id) for each in commits])
            except UNREADABLE as error:
                future.set_exception(error)
