import string
from collections.abc import Iterator, Mapping, Sequence
from math import log

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.text.words import TextQuery, parse_query, terms
from tests.store.lexical import bm25, idf, rank

TOKEN_SIGNS = "".join(sign for sign in string.punctuation if sign not in "\"'")
TABLE = (
    "CREATE VIRTUAL TABLE texts USING fts5(body, content='', contentless_delete=1, "
    f"tokenize=\"ascii tokenchars '{TOKEN_SIGNS}'\")"
)

some_terms = st.lists(st.sampled_from(["a", "b", "c++", "v1.2", "é"]), max_size=8)
documents = st.dictionaries(st.sampled_from(["m1", "m2", "m3", "m4", "m5", "m6"]), some_terms)
queries = st.builds(
    TextQuery,
    st.lists(st.sampled_from(["a", "b", "c++", "é", "absent"]), unique=True, max_size=4).map(tuple),
    st.lists(
        st.lists(st.sampled_from(["a", "b", "é"]), min_size=1, max_size=3).map(tuple),
        unique=True,
        max_size=2,
    ).map(tuple),
)


class Fts5:
    """The texts in SQLite's own full-text index."""

    def __init__(self, documents: Mapping[str, Sequence[str]]) -> None:
        self.ids = sorted(documents)
        self.connection = apsw.Connection(":memory:")
        self.connection.execute(TABLE)
        for row, id in enumerate(self.ids):
            self.connection.execute(
                "INSERT INTO texts(rowid, body) VALUES (?, ?)", (row, " ".join(documents[id]))
            )

    def matching(self, query: TextQuery) -> set[str]:
        phrases = [f'"{" ".join(run)}"' for run in query.phrases]
        any_of = " OR ".join([*(f'"{term}"' for term in query.terms), *phrases])
        all_of = " AND ".join(phrases) or any_of
        found = self.connection.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? AND rowid IN "
            "(SELECT rowid FROM texts WHERE texts MATCH ?)",
            (any_of, all_of),
        )
        return {self.ids[row] for (row,) in found}

    def tokens(self) -> Iterator[tuple[str, list[str]]]:
        self.connection.execute("CREATE VIRTUAL TABLE tokens USING fts5vocab(texts, instance)")
        for row, id in enumerate(self.ids):
            listed = "SELECT term FROM tokens WHERE doc = ? ORDER BY offset"
            yield id, [term for (term,) in self.connection.execute(listed, (row,))]


def test_idf_is_above_zero_however_many_hold_a_term() -> None:
    assert idf(10, 2) == pytest.approx(log(1 + 8.5 / 2.5))
    assert idf(10, 5) == pytest.approx(log(2))
    assert idf(1, 1) == pytest.approx(log(4 / 3))


def test_bm25_of_a_text_of_average_length_depends_on_occurrences_alone() -> None:
    assert bm25(2.0, 1, 7, 7.0) == pytest.approx(2.0)
    assert bm25(2.0, 3, 7, 7.0) == pytest.approx(2.0 * 6.6 / 4.2)


@given(documents, queries)
def test_what_matches_is_what_fts5_matches(
    documents: dict[str, list[str]], query: TextQuery
) -> None:
    expected = Fts5(documents).matching(query) if query else set()
    assert rank(query, documents).keys() == expected


@given(
    st.dictionaries(st.sampled_from(["m1", "m2"]), st.text(st.characters(exclude_categories=())))
)
def test_fts5_splits_joined_terms_as_we_did(texts: dict[str, str]) -> None:
    documents = {id: terms(text) for id, text in texts.items()}
    assert dict(Fts5(documents).tokens()) == documents


def test_what_matches_of_analysed_texts_is_what_fts5_matches() -> None:
    texts = {
        "m1": "The deploy is in_progress: HTTPServer2 moves to v1.2.3.",
        "m2": "Deploying path/to/file.py, progress is slow; progress is progress.",
        "m3": "東京の会議で「進行中」と決めた。",
        "m4": "Ask ana@example.com about C++ and .NET",
        "m5": "",
    }
    documents = {id: terms(text) for id, text in texts.items()}
    index = Fts5(documents)
    for text in (
        "deploy progress",
        '"progress is" slow',
        "東京 会議",
        "C++",
        "v1.2",
        '"in progress"',
    ):
        query = parse_query(text)
        found = rank(query, documents)
        assert found
        assert found.keys() == index.matching(query)


@given(documents, queries)
def test_what_matches_holds_a_term_or_phrase_and_every_phrase(
    documents: dict[str, list[str]], query: TextQuery
) -> None:
    def holds(id: str, run: tuple[str, ...]) -> bool:
        return f" {' '.join(run)} " in f" {' '.join(documents[id])} "

    runs = [*((term,) for term in query.terms), *query.phrases]
    expected = {
        id
        for id in documents
        if any(holds(id, run) for run in runs) and all(holds(id, run) for run in query.phrases)
    }
    assert rank(query, documents).keys() == expected


@given(documents, queries)
def test_scores_are_positive_and_best_first_with_ties_by_id(
    documents: dict[str, list[str]], query: TextQuery
) -> None:
    scores = rank(query, documents)
    assert all(score > 0 for score in scores.values())
    assert list(scores.items()) == sorted(scores.items(), key=lambda one: (-one[1], one[0]))
