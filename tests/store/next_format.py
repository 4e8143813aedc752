"""The next format of a store, which the tests alone know: one step for each engine."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from minutebook.features.postgres import distribution
from minutebook.features.postgres import schema as postgres_schema
from minutebook.store.sqlite import schema as sqlite_schema

_OF_A_FILE = """
ALTER TABLE memories ADD COLUMN colour NOT NULL DEFAULT '';
UPDATE memories SET colour = 'red';
CREATE TABLE colours (organization INTEGER, name, PRIMARY KEY (organization, name)) WITHOUT ROWID;
INSERT INTO colours SELECT DISTINCT organization, colour FROM memories;
"""
_OF_A_DATABASE = """
ALTER TABLE memories ADD COLUMN colour text NOT NULL DEFAULT '';
UPDATE memories SET colour = 'red';
CREATE TABLE colours (organization integer, name text, PRIMARY KEY (organization, name));
INSERT INTO colours SELECT DISTINCT organization, colour FROM memories;
"""


@contextmanager
def next_format(after: str = "") -> Iterator[None]:
    """Let this process know one format more; `after` stands at the end of the step that leads there."""
    with pytest.MonkeyPatch.context() as patch:
        for schema, step in ((sqlite_schema, _OF_A_FILE), (postgres_schema, _OF_A_DATABASE)):
            patch.setattr(schema, "SCRIPTS", (*schema.SCRIPTS, step + after))
            patch.setattr(schema, "FORMAT", schema.FORMAT + 1)
        patch.setattr(distribution, "BY_ORGANIZATION", (*distribution.BY_ORGANIZATION, "colours"))
        yield
