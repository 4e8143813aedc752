"""Judged citations in a store's table, written and read in each way that there is."""

from minutebook.features.citations.cited import CitationVerdict, Cited, CodeDefinition, Judged
from minutebook.features.citations.rows import CitationRows, JudgedRecord
from minutebook.record.records import Kind
from minutebook.store.protocol import Tended
from tests.world import NOON

TOTAL = CodeDefinition("src/pay.py", ("Cart", "total"), 2, 4, "d1", "d2", "d3")


def judged_record(id: str, tree: str = "/shop", said: str = "s") -> JudgedRecord:
    """A memory that cites a definition, a line and a file with a name that no line holds."""
    cited = (
        Judged(Cited("Cart.total", "src/pay.py", definition=TOTAL), CitationVerdict.HOLDS),
        Judged(Cited("a.md:1", "a.md", (1, 2)), CitationVerdict.GONE, since="abc1234"),
        Judged(Cited("b", "b\n\0\udcff"), CitationVerdict.MOVED, "c"),
    )
    stamps = {"src/pay.py": (12, 1_700_000_000_000_000_001), "a.md": None}
    return JudgedRecord((Kind.MEMORY, id), tree, said, "base", "head", stamps, cited)


def write_citations(store: Tended, organization: str = "acme") -> None:
    """Keep rows, read them in each way, and remove all."""
    rows = CitationRows(store.database)
    one = judged_record("a")
    rows.put(organization, [one, judged_record("b")])
    assert rows.rows_of(organization, [one.name]) == {one.name: {"/shop": one}}
    assert len(rows.all(organization, "/shop")) == 2
    assert len(rows.all(organization)) == 2
    decided = (Kind.DECISION, "d")
    rows.put_confirmed(organization, decided, NOON)
    assert rows.confirmed(organization, [decided]) == {decided: NOON}
    rows.remove(organization, [one.name])
    rows.clear(organization)
