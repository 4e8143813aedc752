"""The app of a server, opened once and in the background."""

import gc
import logging
import threading
from dataclasses import dataclass

from minutebook.app import App, open_app
from minutebook.config import Settings
from minutebook.config.models import models_of
from minutebook.record.errors import MinutebookError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NotOpen:
    """A store that is not open yet; `error` is that of the last attempt, if any."""

    error: MinutebookError | None


class AppLoader:
    """Opens the app once, in the background, so that `initialize` need not wait for it.

    Raises InvalidInput if settings do not fit together.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._models = models_of(settings)
        self._lock = threading.Lock()
        self._started = threading.Event()
        self._app: App | None = None
        self._refusal: MinutebookError | None = None

    @property
    def is_open(self) -> bool:
        """Whether the app is open by now."""
        return self._app is not None

    def start(self) -> None:
        """Begin to open the app in a thread, unless that has begun."""
        if not self._started.is_set():
            self._started.set()
            threading.Thread(target=self._try, name="open", daemon=True).start()

    def __call__(self) -> App:
        """Return the app; open it first if need be. Raises the error of opening it; the next call tries again."""
        with self._lock:
            if self._app is None:
                try:
                    app = open_app(self._settings, models=self._models)
                except MinutebookError as error:
                    self._refusal = error
                    self._started.clear()
                    raise
                app.start()
                self._app = app
                # 150,000 objects of modules, which stay: to look through them takes 0.1 s, in which nobody is answered.
                gc.freeze()
            return self._app

    def find(self) -> App | NotOpen:
        """Return the app if it is open; else begin to open it, also if that failed before, and return NotOpen."""
        if self._app is not None:
            return self._app
        self.start()
        return NotOpen(self._refusal)

    def close(self) -> None:
        """Close the app if it was opened."""
        if self._app is not None:
            self._app.close()

    def _try(self) -> None:
        try:
            self()
        except MinutebookError as error:
            log.error("cannot open the store: %s", error)
