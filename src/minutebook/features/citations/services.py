"""Composes the verdicts on citations."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from minutebook.app import App, FeatureServices
from minutebook.composing import service
from minutebook.domain.caller import Caller
from minutebook.services.jobs import Job

if TYPE_CHECKING:
    from minutebook.features.citations.citing import CitingRecords
    from minutebook.features.citations.confirming import Confirmations
    from minutebook.features.citations.rows import CitationRows
    from minutebook.features.citations.verdicts import Citations
    from minutebook.services.search.hit_notes import HitNoter


class CitationServices(FeatureServices):
    """The verdicts on citations."""

    @service
    def _rows(self) -> "CitationRows":
        from minutebook.features.citations.rows import CitationRows

        return CitationRows(self.infrastructure.store.database)

    @service
    def citing(self) -> "CitingRecords":
        """Return records as they cite code."""
        from minutebook.features.citations.citing import CitingRecords

        return CitingRecords(self.infrastructure.store, self._rows)

    @service
    def citations(self) -> "Citations":
        """Keep citations, and judge them."""
        from minutebook.features.citations.verdicts import Citations

        return Citations(self.infrastructure, self._rows, self.citing)

    @service
    def confirmations(self) -> "Confirmations":
        """Keep the confirmations of records."""
        from minutebook.features.citations.confirming import Confirmations

        return Confirmations(self.infrastructure, self._rows)


def verdicts(app: App) -> "HitNoter":
    """Return the function that gives the verdicts on hits."""
    return app.get(CitationServices).citations.notes


def jobs(app: App) -> Iterable[Job]:
    """Yield the job that judges new records, and those that cite changed code."""
    from minutebook.features.citations.verdicts import WAIT

    citations = app.get(CitationServices).citations
    citations.wait = WAIT
    failing = "citations were not judged"
    yield Job("citations", citations.follow, failing)


def judge_anew(app: App, caller: Caller) -> None:
    """Judge all citations again."""
    app.get(CitationServices).citations.judge_anew(caller)
