"""The full-text index: one FTS5 table for each organization and kind, fed with our own terms.

Each organization's statistics, isolation and cost are thus its own. The tables keep no text.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apsw

from minutebook.domain.filters import Filter
from minutebook.domain.records import TEXT_CLASSES, Kind, TextRecord
from minutebook.search import text as analysis
from minutebook.search.text import TextQuery
from minutebook.store.protocol import Candidate
from minutebook.store.sql.tables import value_text
from minutebook.store.sqlite import change_feed
from minutebook.store.sqlite.tables import selection, table_of

# Every sign belongs to its term: FTS5 splits at spaces, and at control characters, which no term
# holds. Nor does it find capitals to fold.
_SIGNS = "".join(sign for sign in map(chr, range(0x21, 0x7F)) if not sign.isalnum())
TOKENIZER = "ascii tokenchars '{}'".format(_SIGNS.replace("'", "''")).replace('"', '""')

_SPARE = 28

PAGE = 1000
"""Texts that are read at once when all are indexed anew, so that memory is bounded."""


def add(
    connection: apsw.Connection, number: int, of: type[TextRecord], row: int, text: str
) -> None:
    """Index the text of a record that the index does not hold."""
    name = _name_of(number, of)
    created = connection.execute(
        "INSERT OR IGNORE INTO text_indices (organization, kind) VALUES (?, ?) RETURNING 1",
        (number, of.kind),
    ).get
    if created:
        _create(connection, name)
    terms = " ".join(analysis.terms(text))
    connection.execute(f"INSERT INTO {name}(rowid, terms) VALUES (?, ?)", (row, terms))  # noqa: S608


def renew_tokenizers(connection: apsw.Connection) -> None:
    """Make those indices anew, empty, that another tokenizer reads; call where all texts are read again."""
    for number, of in _indices(connection):
        name = _name_of(number, of)
        stated = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,)).get
        if TOKENIZER not in (stated or ""):
            connection.execute(f"DROP TABLE IF EXISTS {name}")
            _create(connection, name)


def remove(connection: apsw.Connection, number: int, of: type[TextRecord], row: int) -> None:
    """Take a record out of the index."""
    connection.execute(f"DELETE FROM {_name_of(number, of)} WHERE rowid = ?", (row,))  # noqa: S608


def match(
    connection: apsw.Connection, of: type[TextRecord], where: Filter, query: TextQuery, limit: int
) -> list[Candidate]:
    """Rank the selected records by FTS5's BM25, best first, ties by id."""
    name = _index_of(connection, where.organization, of)
    if name is None or not query or limit < 1:
        return []
    if not _is_narrow(where):
        found = _best_if_few_are_hidden(connection, name, of, where, query, limit)
        if found is not None:
            return found
    table = table_of(of)
    condition, values = selection(of, where)
    matching, phrases = _matching(name, query)
    # Whom the condition leaves out is not scored.
    rows: Iterable[tuple[float, str]] = connection.execute(
        f"SELECT -bm25({name}) AS score, r.id FROM {name} CROSS JOIN {table.name} AS r"  # noqa: S608
        f" ON r.row = {name}.rowid WHERE {matching} AND {condition}"
        " ORDER BY score DESC, r.id LIMIT ?",
        (*phrases, *values, limit),
    )
    return [Candidate(value_text(id), score) for score, id in rows]


def matches_phrase(
    connection: apsw.Connection, of: type[TextRecord], where: Filter, words: Sequence[str]
) -> list[str]:
    """Return the sorted ids of the selected records whose text holds the words as a phrase."""
    name = _index_of(connection, where.organization, of)
    if name is None or not words:
        return []
    table = table_of(of)
    condition, values = selection(of, where)
    # The index tells words with one stem apart no more: each candidate's own text decides.
    rows = connection.execute(
        f"SELECT {table.fields} FROM {name} AS t CROSS JOIN {table.name} AS r ON r.row = t.rowid"  # noqa: S608
        f" WHERE t.{name} MATCH ? AND {condition}",
        (_quoted(analysis.phrase(words)), *values),
    )
    records = (table.record_of(of, where.organization, row) for row in rows)
    return sorted(
        record.id for record in records if _holds_in_a_row(analysis.words(record.text), list(words))
    )


def purge(connection: apsw.Connection) -> None:
    """Merge each text index into one part: the terms of removed texts stay in the others until then."""
    for number, of in _indices(connection):
        name = _name_of(number, of)
        connection.execute(f"INSERT INTO {name}({name}) VALUES ('optimize')")  # noqa: S608


def rebuild(connection: apsw.Connection) -> None:
    """Make every text index anew from the records."""
    indices = _indices(connection)
    for number, of in indices:
        connection.execute(f"DROP TABLE IF EXISTS {_name_of(number, of)}")
    connection.execute("DELETE FROM text_indices")
    for number, of in indices:
        page = texts_after(connection, number, of, 0, PAGE)
        while page:
            for _, row, text in page:
                add(connection, number, of, row, text)
            page = texts_after(connection, number, of, page[-1][0], PAGE)


def texts_after(
    connection: apsw.Connection, number: int, of: type[TextRecord], since: int, limit: int
) -> list[tuple[int, int, str]]:
    """Return sequence, row and text of the first records of a kind that changed after a sequence."""
    table = table_of(of)
    found: list[tuple[Any, ...]] = connection.execute(
        f"SELECT r.sequence, r.row, {table.fields} FROM {table.name} AS r"  # noqa: S608
        " WHERE r.organization = ? AND r.sequence > ? ORDER BY r.sequence LIMIT ?",
        (number, since, limit),
    ).fetchall()
    return [
        (sequence, row, table.record_of(of, "", values).text) for sequence, row, *values in found
    ]


def gaps(connection: apsw.Connection) -> Iterator[str]:
    """Tell, index by index, whether it holds other records than there are."""
    for number, of in _indices(connection):
        name, table = _name_of(number, of), table_of(of)
        records, missing = connection.execute(
            f"SELECT count(*), sum(r.row NOT IN (SELECT id FROM {name}_docsize))"  # noqa: S608
            f" FROM {table.name} AS r WHERE organization = ?",
            (number,),
        ).get
        held = connection.execute(f"SELECT count(*) FROM {name}_docsize").get  # noqa: S608
        if missing or held != records:
            yield f"the text index {name} holds {held} of {records} records"


def _create(connection: apsw.Connection, name: str) -> None:
    connection.execute(
        f"CREATE VIRTUAL TABLE {name} USING fts5"
        f"(terms, content='', contentless_delete=1, tokenize=\"{TOKENIZER}\")"
    )


def _is_narrow(where: Filter) -> bool:
    sets = (where.ids, where.repositories, where.users, where.client, where.since, where.until)
    return bool(where.equal) or any(chosen is not None for chosen in sets)


def _best_if_few_are_hidden(
    connection: apsw.Connection,
    name: str,
    of: type[TextRecord],
    where: Filter,
    query: TextQuery,
    limit: int,
) -> list[Candidate] | None:
    """Look at a few best only, which is quicker; None if that does not settle it."""
    few = 2 * limit + _SPARE
    matching, phrases = _matching(name, query)
    rows: Iterator[tuple[int, float]] = connection.execute(
        f"SELECT rowid, -bm25({name}) AS score FROM {name} WHERE {matching}"  # noqa: S608
        " ORDER BY score DESC LIMIT ?",
        (*phrases, few),
    )
    best = list(rows)
    ids = _selected(connection, of, where, [row for row, _ in best])
    found = [Candidate(ids[row], score) for row, score in best if row in ids]
    # If there are more, one of them may be as good as the last that was found.
    if len(best) == few and (len(found) < limit or found[limit - 1].score <= best[-1][1]):
        return None
    return sorted(found, key=lambda c: (-c.score, c.id))[:limit]


def _matching(name: str, query: TextQuery) -> tuple[str, list[str]]:
    """Write a query as a condition on the rows of an index, and the values it names."""
    phrases = [_quoted([term]) for term in query.terms]
    required = [_quoted(phrase) for phrase in query.phrases]
    if not phrases or not required:
        return f"{name} MATCH ?", [" OR ".join(phrases) or " AND ".join(required)]
    # The plus keeps SQLite from looking each row up in the first condition's index instead.
    condition = (
        f"{name} MATCH ? AND +{name}.rowid IN (SELECT rowid FROM {name} WHERE {name} MATCH ?)"  # noqa: S608
    )
    return condition, [" OR ".join([*phrases, *required]), " AND ".join(required)]


def _selected(
    connection: apsw.Connection, of: type[TextRecord], where: Filter, rows: list[int]
) -> dict[int, str]:
    """Return the ids of the selected records among these rows, by row number."""
    table = table_of(of)
    condition, values = selection(of, where)
    found = connection.execute(
        f"SELECT r.row, r.id FROM json_each(?) AS c CROSS JOIN {table.name} AS r ON r.row = c.value"  # noqa: S608
        f" WHERE {condition}",
        (json.dumps(rows), *values),
    )
    return {row: value_text(id) for row, id in found}


def _indices(connection: apsw.Connection) -> list[tuple[int, type[TextRecord]]]:
    rows: Iterator[tuple[int, str]] = connection.execute(
        "SELECT organization, kind FROM text_indices"
    )
    return [(number, TEXT_CLASSES[Kind(kind)]) for number, kind in rows]


def _index_of(connection: apsw.Connection, organization: str, of: type[TextRecord]) -> str | None:
    number = change_feed.number_of(connection, organization)
    held = connection.execute(
        "SELECT 1 FROM text_indices WHERE organization = ? AND kind = ?", (number, of.kind)
    ).get
    return _name_of(number, of) if number is not None and held else None


def _name_of(number: int, of: type[TextRecord]) -> str:
    return f"text_{of.kind}_{number}"


def _quoted(run: Sequence[str]) -> str:
    text = " ".join(run).replace('"', '""')
    return f'"{text}"'


def _holds_in_a_row(words: list[str], run: list[str]) -> bool:
    first, length = run[0], len(run)
    start = -1
    for _ in range(words.count(first)):
        start = words.index(first, start + 1)
        if words[start : start + length] == run:
            return True
    return False
