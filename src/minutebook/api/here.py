"""This process, which has the store open itself."""

from typing import TYPE_CHECKING

from minutebook.api.connection import Operating, P, R
from minutebook.domain.caller import Caller, Note, in_call, no_progress
from minutebook.embedding.service import until_loaded
from minutebook.operations.operation import Operation

if TYPE_CHECKING:
    from minutebook.app import App


class Here(Operating):
    """Has operations done on an app of this process, in a caller's name."""

    def __init__(self, app: "App", caller: Caller) -> None:
        super().__init__()
        self._app, self._caller = app, caller

    def _run(self, operation: Operation[P, R], *arguments: P.args, **named: P.kwargs) -> R:
        notes: dict[str, Note] = {}
        progress = self._progress
        if progress is no_progress:
            progress = until_loaded(self._app.embedding)
        try:
            caller = in_call(self._caller, notes=notes, progress=progress)
            return operation.act(self._app, caller, *arguments, **named)
        finally:
            self.notes |= {name: note.text for name, note in notes.items()}

    def close(self) -> None:
        """Leave the app open: its opener closes it."""
