"""Composes the sync with a folder of notes."""

from typing import TYPE_CHECKING

from minutebook.app import FeatureServices
from minutebook.composing import service

if TYPE_CHECKING:
    from minutebook.features.notes.notes import NoteSync


class NoteServices(FeatureServices):
    """The services that keep the store in step with a folder of notes."""

    @service
    def note_sync(self) -> "NoteSync":
        """Keep a folder of notes in step."""
        from minutebook.features.notes.notes import NoteSync

        return NoteSync(self.infrastructure, self.app.memories)
