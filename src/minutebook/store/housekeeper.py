"""A thread for upkeep that writers should not wait for."""

import logging
import threading
import weakref
from collections.abc import Callable

from minutebook.record.errors import StoreClosed, StoreError

log = logging.getLogger(__name__)


class Housekeeper:
    """Runs a task when it is asked for, in a thread that starts when it is first needed.

    The task must be a bound method; the thread does not keep its object alive.
    """

    def __init__(self, task: Callable[[], None]) -> None:
        self._task = weakref.WeakMethod(task)
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None

    def want(self) -> None:
        """Ask for a run of the task soon."""
        self._wanted.set()
        if self._thread is None:
            with self._guard:
                if self._thread is None and not self._stopping.is_set():
                    self._thread = threading.Thread(
                        target=_keep_house,
                        args=(self._task, self._wanted, self._stopping),
                        name="housekeeping",
                        daemon=True,
                    )
                    weakref.finalize(self, _stop, self._wanted, self._stopping)
                    self._thread.start()

    def stop(self) -> None:
        """Run no further task; wait for the one under way to end."""
        with self._guard:
            _stop(self._wanted, self._stopping)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()


def _stop(wanted: threading.Event, stopping: threading.Event) -> None:
    stopping.set()
    wanted.set()


def _keep_house(
    task: "weakref.WeakMethod[Callable[[], None]]",
    wanted: threading.Event,
    stopping: threading.Event,
) -> None:
    while wanted.wait() and not stopping.is_set():
        wanted.clear()
        run = task()
        if run is None:
            return
        try:
            run()
        except StoreClosed:
            return
        except StoreError as error:
            log.warning("housekeeping is put off: %s", error)
        del run
