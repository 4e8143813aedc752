"""The full-text index: one FTS5 table for each organization and kind, fed with our own terms.

Each organization's statistics, isolation and cost are thus its own. The tables keep no text.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from math import log

from minutebook.record.filters import Filter
from minutebook.record.records import TEXT_CLASSES, Kind, TextRecord
from minutebook.store.sidecar.words import idf
from minutebook.store.sql.conditions import selection
from minutebook.store.sql.database import Connection
from minutebook.store.sql.tables import table_of, value_text
from minutebook.store.values import Candidate, T
from minutebook.text import words as analysis
from minutebook.text.words import TextQuery

# All ASCII punctuation counts as part of a term, so FTS5 splits only at spaces, as we join the terms.
# Terms have neither control characters nor capitals.
_SIGNS = "".join(sign for sign in map(chr, range(0x21, 0x7F)) if not sign.isalnum())
TOKENIZER = "ascii tokenchars '{}'".format(_SIGNS.replace("'", "''")).replace('"', '""')

_SPARE = 28

_LEAST_IDF = 1e-6
"""FTS5's inverse document frequency of a term that half of the rows, or more, hold."""

PAGE = 1000
"""Texts that are read at once when all are indexed anew, which bounds memory."""


def add(connection: Connection, number: int, of: type[TextRecord], row: int, text: str) -> None:
    """Index the text of a record that the index does not hold."""
    name = _name_of(number, of)
    created = connection.rows(
        "INSERT OR IGNORE INTO text_indices (organization, kind) VALUES (?, ?) RETURNING 1",
        (number, of.kind),
    )
    if created:
        _create(connection, name)
    terms = " ".join(analysis.terms(text))
    connection.run(f"INSERT INTO {name}(rowid, terms) VALUES (?, ?)", (row, terms))  # noqa: S608


def renew_tokenizers(connection: Connection) -> None:
    """Create those indices anew, empty, that have another tokenizer; the caller then adds all texts again."""
    for number, of in _indices(connection):
        name = _name_of(number, of)
        stated = connection.row("SELECT sql FROM sqlite_schema WHERE name = ?", (name,))
        if stated is None or TOKENIZER not in stated[0]:
            connection.run(f"DROP TABLE IF EXISTS {name}")
            _create(connection, name)


def remove(connection: Connection, number: int, of: type[TextRecord], row: int) -> None:
    """Remove a record from the index."""
    connection.run(f"DELETE FROM {_name_of(number, of)} WHERE rowid = ?", (row,))  # noqa: S608


def ranked(
    connection: Connection,
    number: int,
    of: type[TextRecord],
    where: Filter,
    query: TextQuery,
    limit: int,
) -> list[Candidate]:
    """Rank the selected records by BM25, best first, ties by id."""
    name = _index_of(connection, number, of)
    if name is None or limit < 1:
        return []
    scored, matched = _scored(connection, name, query)
    if not scored:
        return []
    if not _is_narrow(where):
        found = _best_if_few_are_hidden(connection, number, of, where, (scored, matched), limit)
        if found is not None:
            return found
    table = table_of(of)
    condition, values = selection(connection, number, of, where)
    rows = connection.rows(
        f"SELECT s.score, r.id FROM ({scored}) AS s CROSS JOIN {table.name} AS r ON r.row = s.match"  # noqa: S608
        f" WHERE {condition} ORDER BY s.score DESC, r.id LIMIT ?",
        (*matched, *values, limit),
    )
    return [Candidate(value_text(id), score) for score, id in rows]


def holding_words(
    connection: Connection,
    number: int,
    of: type[TextRecord],
    where: Filter,
    words: Sequence[Sequence[str]],
) -> list[set[str]]:
    """Return for each word the ids of the selected records that have any of its terms."""
    held: list[set[str]] = [set() for _ in words]
    name, table = _index_of(connection, number, of), table_of(of)
    if name is None or not words:
        return held
    condition, values = selection(connection, number, of, where)
    each = f"SELECT {{}}, c.id FROM {name} AS t JOIN chosen AS c ON c.row = t.rowid WHERE t.{name} MATCH ?"  # noqa: S608
    found = connection.rows(
        f"WITH chosen AS MATERIALIZED (SELECT r.row, r.id FROM {table.name} AS r WHERE {condition}) "  # noqa: S608
        + " UNION ALL ".join(each.format(place) for place in range(len(words))),
        (*values, *(" OR ".join(_quoted([term]) for term in terms) for terms in words)),
    )
    for place, id in found:
        held[place].add(value_text(id))
    return held


def holding(
    connection: Connection, number: int, of: type[T], where: Filter, terms: Sequence[str]
) -> list[T]:
    """Return the selected records with a text that holds the terms as a phrase."""
    name, table = _index_of(connection, number, of), table_of(of)
    if name is None:
        return []
    condition, values = selection(connection, number, of, where)
    rows = connection.rows(
        f"SELECT {table.fields} FROM {name} AS t CROSS JOIN {table.name} AS r ON r.row = t.rowid"  # noqa: S608
        f" WHERE t.{name} MATCH ? AND {condition}",
        (_quoted(terms), *values),
    )
    return [table.record_of(of, where.organization, row) for row in rows]


def purge(connection: Connection) -> None:
    """Merge the parts of each text index into one, which removes the terms of removed texts."""
    for number, of in _indices(connection):
        name = _name_of(number, of)
        connection.run(f"INSERT INTO {name}({name}) VALUES ('optimize')")  # noqa: S608


def rebuild(connection: Connection) -> None:
    """Make every text index anew from the records."""
    indices = _indices(connection)
    for number, of in indices:
        connection.run(f"DROP TABLE IF EXISTS {_name_of(number, of)}")
    connection.run("DELETE FROM text_indices")
    for number, of in indices:
        page = texts_after(connection, number, of, 0, PAGE)
        while page:
            for _, row, text in page:
                add(connection, number, of, row, text)
            page = texts_after(connection, number, of, page[-1][0], PAGE)


def texts_after(
    connection: Connection, number: int, of: type[TextRecord], since: int, limit: int
) -> list[tuple[int, int, str]]:
    """Return sequence, row and text of the first records of a kind that changed after a sequence."""
    table = table_of(of)
    found = connection.rows(
        f"SELECT r.sequence, r.row, {table.fields} FROM {table.name} AS r"  # noqa: S608
        " WHERE r.organization = ? AND r.sequence > ? ORDER BY r.sequence LIMIT ?",
        (number, since, limit),
    )
    return [
        (sequence, row, table.record_of(of, "", values).text) for sequence, row, *values in found
    ]


def gaps(connection: Connection) -> Iterator[str]:
    """Yield a sentence for each index that holds other records than there are."""
    for number, of in _indices(connection):
        name, table = _name_of(number, of), table_of(of)
        ((records, missing),) = connection.rows(
            f"SELECT count(*), sum(r.row NOT IN (SELECT id FROM {name}_docsize))"  # noqa: S608
            f" FROM {table.name} AS r WHERE organization = ?",
            (number,),
        )
        ((held,),) = connection.rows(f"SELECT count(*) FROM {name}_docsize")  # noqa: S608
        if missing or held != records:
            yield f"the text index {name} holds {held} of {records} records"


def _create(connection: Connection, name: str) -> None:
    connection.run(
        f"CREATE VIRTUAL TABLE {name} USING fts5"
        f"(terms, content='', contentless_delete=1, tokenize=\"{TOKENIZER}\")"
    )


def _is_narrow(where: Filter) -> bool:
    sets = (where.ids, where.repositories, where.users, where.client, where.since, where.until)
    return bool(where.equal) or any(chosen is not None for chosen in sets)


def _best_if_few_are_hidden(
    connection: Connection,
    number: int,
    of: type[TextRecord],
    where: Filter,
    scored: tuple[str, list[str]],
    limit: int,
) -> list[Candidate] | None:
    """Return the best selected records if they are among the few best of all, which is quicker; None if that is uncertain."""
    few = 2 * limit + _SPARE
    statement, matched = scored
    best = connection.rows(f"{statement} ORDER BY score DESC LIMIT ?", (*matched, few))
    ids = _selected(connection, number, of, where, [row for row, _ in best])
    found = [Candidate(ids[row], score) for row, score in best if row in ids]
    # If there are more matches, one of them may be as good as the last one found.
    if len(best) == few and (len(found) < limit or found[limit - 1].score <= best[-1][1]):
        return None
    return sorted(found, key=lambda c: (-c.score, c.id))[:limit]


def _scored(connection: Connection, name: str, query: TextQuery) -> tuple[str, list[str]]:
    """Return the statement for the matching rows and their scores (match, score), and its values; "" if none matches.

    FTS5's score of a term is its inverse document frequency, which is about 0 if half of the rows hold it, times the
    term's weight in the row. Each term is scored by itself, so that the frequency can be replaced by `words.idf`.
    """
    required = [_quoted(phrase) for phrase in query.phrases]
    times = Counter([*(_quoted([term]) for term in query.terms), *required])
    ((records, *counts),) = connection.rows(
        f"SELECT (SELECT count(*) FROM {name}_docsize)"  # noqa: S608
        + f", (SELECT count(*) FROM {name} WHERE {name} MATCH ?)" * len(times),  # noqa: S608
        list(times),
    )
    holding = {run: held for run, held in zip(times, counts, strict=True) if held}
    if not holding or not holding.keys() >= set(required):
        return "", []
    parts, values = [], list(holding)
    for run, held in holding.items():
        weight = times[run] * idf(records, held) / _idf_of_fts5(records, held)
        parts.append(
            f"SELECT rowid AS match, -rank * {weight!r} AS score FROM {name} WHERE {name} MATCH ?"  # noqa: S608
        )
    demanded = ""
    if required:
        demanded = f" WHERE match IN (SELECT rowid FROM {name} WHERE {name} MATCH ?)"  # noqa: S608
        values.append(" AND ".join(required))
    together = " UNION ALL ".join(parts)
    return f"SELECT match, sum(score) AS score FROM ({together}){demanded} GROUP BY match", values  # noqa: S608


def _idf_of_fts5(records: int, holding: int) -> float:
    found = log((records - holding + 0.5) / (holding + 0.5))
    return found if found > 0 else _LEAST_IDF


def _selected(
    connection: Connection, number: int, of: type[TextRecord], where: Filter, rows: list[int]
) -> dict[int, str]:
    """Return the ids of the selected records among these rows, by row number."""
    table = table_of(of)
    condition, values = selection(connection, number, of, where)
    found = connection.rows(
        f"SELECT r.row, r.id FROM json_each(?) AS c CROSS JOIN {table.name} AS r ON r.row = c.value"  # noqa: S608
        f" WHERE {condition}",
        (json.dumps(rows), *values),
    )
    return {row: value_text(id) for row, id in found}


def _indices(connection: Connection) -> list[tuple[int, type[TextRecord]]]:
    rows = connection.rows("SELECT organization, kind FROM text_indices")
    return [(number, TEXT_CLASSES[Kind(kind)]) for number, kind in rows]


def _index_of(connection: Connection, number: int, of: type[TextRecord]) -> str | None:
    held = connection.row(
        "SELECT 1 FROM text_indices WHERE organization = ? AND kind = ?", (number, of.kind)
    )
    return None if held is None else _name_of(number, of)


def _name_of(number: int, of: type[TextRecord]) -> str:
    return f"text_{of.kind}_{number}"


def _quoted(run: Sequence[str]) -> str:
    text = " ".join(run).replace('"', '""')
    return f'"{text}"'
