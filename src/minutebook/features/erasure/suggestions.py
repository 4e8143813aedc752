"""Suggestions about records that are erased: how the records were before may stand in them."""

from collections.abc import Sequence

from minutebook.domain.records import Key
from minutebook.store.protocol import Tended


def forget_suggestions(store: Tended, records: Sequence[Key]) -> None:
    """Remove the suggestions about some records, in their transaction."""
    ids: dict[str, set[str]] = {}
    for organization, _, id in records:
        ids.setdefault(organization, set()).add(id)
    for organization, erased in ids.items():
        about = [
            each.id
            for each in store.tidy_rows.everything(organization)
            if any(id in erased for _, id in each.subjects) or any(id in each.undo for id in erased)
        ]
        for id in about:
            store.tidy_rows.remove(organization, id)
