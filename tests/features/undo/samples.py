"""Images in a store's table, written and read in each way that there is."""

from datetime import timedelta

from minutebook.features.undo.rows import ImageRows
from minutebook.store.protocol import Tended
from minutebook.store.sql.side_words import SideWords
from tests.store import samples


def write_images(store: Tended, organization: str = "acme") -> None:
    """Keep an image, read it in both ways, and remove all."""
    rows = ImageRows(store.database)
    memory = samples.memory("a")
    with store.transaction(organization):
        rows.add(organization, 1, samples.START, [memory])
    assert rows.images_of(organization, [1]) == [(1, memory)]
    assert rows.latest(organization, memory.id) == memory
    rows.prune(organization, samples.START + timedelta(days=1))
    SideWords(store.database).remove_images(organization)
    assert rows.latest(organization, memory.id) is None
