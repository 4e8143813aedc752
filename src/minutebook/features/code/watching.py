"""Watch projects' folders, and read changed files again."""

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePath

from minutebook.app import App
from minutebook.features.code.projects import Projects
from minutebook.memory.jobs import stopping
from minutebook.record.errors import Conflict, InvalidRoot, NotFound, StoreClosed, StoreError
from minutebook.record.records import Project

log = logging.getLogger(__name__)

QUIET_MS = 500
"""Milliseconds without a change after which the changes are read."""

PATIENCE_MS = 5_000
"""Milliseconds after which the changes are read even if more keep coming."""

LOOK_EVERY = 5.0
"""Seconds between two tries to take over from another process that watches the project."""

_LEAVE_WITHIN_MS = 200
_ASK_AGAIN = 1.0

Changed = Callable[[Project], None]


class Watching:
    """Watches projects: one process watches each, the others wait to take over."""

    def __init__(self, app: App) -> None:
        self._projects, self._locks = app.get(Projects), app.infrastructure.locks
        self._stop = app.stopping
        self._guard = threading.Lock()
        self._watchers: dict[tuple[str, str], threading.Thread] = {}

    def watch(self, project: Project, changed: Changed = lambda project: None) -> None:
        """Watch a project's folder in the background until the store closes or the project goes.

        It calls `changed` each time that changes were read.
        """
        key = (project.organization, project.id)
        with self._guard:
            watcher = self._watchers.get(key)
            if watcher is not None and watcher.is_alive():
                return
            watcher = threading.Thread(
                target=self._run, args=(project, changed), name=f"watch {project.id}", daemon=True
            )
            self._watchers[key] = watcher
            watcher.start()

    def join(self, project: Project) -> None:
        """Wait until a project is no longer watched."""
        with self._guard:
            watcher = self._watchers.get((project.organization, project.id))
        while watcher is not None and watcher.is_alive():
            # In short waits: on some platforms an interrupt does not end a long one.
            watcher.join(_LEAVE_WITHIN_MS / 1000)

    def _run(self, project: Project, changed: Changed) -> None:
        """Watch a project until it stops, or wait while another process watches it."""
        try:
            while not self._stop.is_set():
                with self._locks.hold(f"watch\0{project.organization}\0{project.id}") as is_held:
                    if is_held:
                        self._follow(project, changed)
                        return
                self._stop.wait(LOOK_EVERY)
        except (InvalidRoot, NotFound, StoreClosed) as error:
            log.info("no longer watching %s: %s", project.id, error)
        except (StoreError, OSError) as error:
            log.warning("no longer watching %s: %s", project.id, error)

    def _follow(self, project: Project, changed: Changed) -> None:
        """Read the project now, then after each change that may matter, until it stops."""
        from watchfiles import Change, watch

        root = Path(project.path)

        def may_matter(change: Change, path: str) -> bool:
            return _may_matter(PurePath(path).relative_to(root))

        is_first = True
        for changes in watch(
            root,
            watch_filter=may_matter,
            debounce=PATIENCE_MS,
            step=QUIET_MS,
            stop_event=self._stop,
            rust_timeout=_LEAVE_WITHIN_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            ignore_permission_denied=True,
        ):
            # The first time it returns without changes: then the changes before it began are read.
            if changes or is_first:
                self._read(project, changed)
            is_first = False

    def _read(self, project: Project, changed: Changed) -> None:
        """Index the project's changes, and call `changed` if there were any; wait while another process indexes it."""
        progress = stopping(self._stop)
        try:
            touched = None
            while touched is None:
                # None: another process reads it. Closed: the store was stopped, and may be started again.
                with suppress(StoreClosed):
                    touched = self._projects.refresh(project.organization, project.id, progress)
                if touched is None and self._stop.wait(_ASK_AGAIN):
                    return
        except Conflict as error:
            log.info("%s: %s", project.id, error.reason)
            return
        if touched:
            changed(project)


def _may_matter(path: PurePath) -> bool:
    """Tell whether a path in a project may be a file to index, or a file with ignore rules."""
    if path.name in {".gitignore", ".memoryignore"}:
        path = path.parent
    return not any(part.startswith(".") for part in path.parts)
