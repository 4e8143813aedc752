"""Composes the services of projects."""

from typing import TYPE_CHECKING

from minutebook.composing.foundation import Foundation
from minutebook.composing.service import service
from minutebook.domain.roots import Roots

if TYPE_CHECKING:
    from minutebook.services.code.projects import Projects
    from minutebook.services.code.reading import CodeReading
    from minutebook.services.code.watching import Watching


class CodeServices(Foundation):
    """Projects: indexed, read and watched."""

    @service
    def projects(self) -> "Projects":
        """Index code."""
        from minutebook.services.code.projects import Projects

        return Projects(self.infrastructure, Roots(self._settings.index_roots, self._home))

    @service
    def code_reading(self) -> "CodeReading":
        """Read what the index of code holds."""
        from minutebook.services.code.reading import CodeReading

        return CodeReading(self._store, self.projects)

    @service
    def watching(self) -> "Watching":
        """Index again what changes."""
        from minutebook.services.code.watching import Watching

        return Watching(self.projects, self._locks, self._stop)
