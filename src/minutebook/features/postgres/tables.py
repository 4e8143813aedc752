"""The tables of PostgreSQL: the columns beside a record's own."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from minutebook.record.filters import folded
from minutebook.record.records import Memory, TextRecord
from minutebook.store.sidecar.words import packed
from minutebook.store.sql.tables import Table
from minutebook.text.words import ANALYSIS, terms

CUT = frozenset({"name", "session", "subject", "target_key"})
"""The columns of which an index holds the first SHORT characters only."""


def quoted(name: str) -> str:
    """Return a column's name in quotation marks, since it may be a keyword of SQL."""
    return f'"{name}"'


def derived(table: Table) -> Mapping[str, Callable[[Any], Any]]:
    """Return the columns of a table that are derived from a record, each with the function that computes it."""
    makers: dict[str, Callable[[Any], Any]] = {}
    if table.has_text:
        makers["text_digest"] = _text_digest
        makers["terms"] = packed_terms
        makers["analysis"] = lambda record: ANALYSIS
    if "origin" in table.columns:
        makers["client"] = _client
    if Memory in table.records:
        makers["metadata_digest"] = lambda record: object_digest(record.metadata)
    return makers


def object_digest(value: object) -> bytes:
    """Return a digest of 16 bytes of a JSON object, which does not depend on the order of keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def packed_terms(record: TextRecord) -> bytes:
    """Return the terms of a record's text as an index of words reads them."""
    return packed(terms(record.text))


def _text_digest(record: TextRecord) -> bytes:
    text = record.text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).digest()


def _client(record: Any) -> str | None:
    """Return the program that first wrote a record, in lower case; None if it is not known."""
    client: str = record.origin.client if record.origin is not None else ""
    return folded(client) or None
