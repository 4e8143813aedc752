"""Side tables: tables that features keep beside the records, described once and created by each engine."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from minutebook.feature import features
from minutebook.record.errors import StoreTooNew
from minutebook.record.records import Kind

if TYPE_CHECKING:
    from minutebook.store.sql.database import Connection


@dataclass(frozen=True, slots=True)
class SideTable:
    """A table of a feature.

    `columns` lists names and types: name (a text without words of a record: an id, a name, a digest, or several), words
    (a text with such words), images (JSON of records as they were before), integer, instant (microseconds since 1970, UTC) and
    real, with "?" if the column may be NULL. If the first is `organization integer`, an organization's number, the rows move with
    its records to another engine; the rows of other tables belong to the machine. `indices` are columns, by the end of the index' name.
    """

    name: str
    columns: str
    key: str
    indices: Mapping[str, str]
    goes_with: Collection[Kind] = ()
    """Kinds of records with which a row is removed; its columns `kind` and `id` name the record."""
    keeps_deletions: bool = False
    """Whether the change feed must keep the deletions of records while the table has a row."""
    is_kept_without_words: bool = False
    """Whether a row is kept when its words are removed."""

    @property
    def types(self) -> Mapping[str, str]:
        """The types of the columns, by name."""
        return dict(each.split() for each in self.columns.split(", "))

    @property
    def words(self) -> Collection[str]:
        """The columns that hold words of records."""
        return [name for name, type in self.types.items() if type.startswith(("words", "images"))]

    @property
    def has_images(self) -> bool:
        """Whether a column holds records as they were before."""
        return "images" in self.types.values()

    @property
    def is_by_organization(self) -> bool:
        """Whether each row belongs to an organization."""
        return self.columns.startswith("organization integer,")

    @property
    def leading(self) -> str:
        """The first column of the key."""
        return self.key.partition(",")[0]


@dataclass(frozen=True, slots=True)
class SideTables:
    """The tables of a feature, and the steps from earlier formats of them.

    Step n, counted from 0, is the statements that lead from format n + 1 to the next on every engine. A released one never changes.
    """

    tables: Sequence[SideTable]
    steps: Sequence[Sequence[str]] = ()

    @property
    def format(self) -> int:
        """The number of their present format, which a database stores."""
        return 1 + len(self.steps)


_MARKS = SideTable(
    "marks", "organization integer, name name, noted words", key="organization, name", indices={}
)


@cache
def by_feature() -> Mapping[str, SideTables]:
    """Return the tables of each feature that has some, by its name; "core" are those of the core."""
    return {
        "core": SideTables((_MARKS,)),
        **{each.name: each.load(each.tables) for each in features() if each.tables},
    }


def all_tables() -> Iterator[SideTable]:
    """Yield every table of every feature."""
    for of in by_feature().values():
        yield from of.tables


def tables_going_with(kind: Kind) -> Iterator[SideTable]:
    """Yield the tables with rows that are removed with records of a kind."""
    return (each for each in all_tables() if kind in each.goes_with)


def are_deletions_kept(connection: "Connection") -> bool:
    """Tell whether the change feed must keep the deletions of records."""
    return any(
        connection.row(f"SELECT 1 FROM {each.name} LIMIT 1")  # noqa: S608
        for each in all_tables()
        if each.keeps_deletions
    )


def missing_statements(connection: "Connection", place: object) -> list[str]:
    """Return the statements that create the tables which a database lacks, or bring them to their present format.

    Tables of features that are not installed stay as they are. Raises StoreTooNew if a table has a later format.
    """
    noted: dict[str, int] = dict(connection.rows("SELECT feature, format FROM side_tables"))
    statements = []
    for feature, of in by_feature().items():
        found = noted.get(feature, 0)
        if found > of.format:
            raise StoreTooNew(
                "{place}: the tables of {feature} have format {found}, this version of Minutebook reads up to "
                "{format}; upgrade Minutebook. Nothing was changed",
                place=place,
                feature=feature,
                found=found,
                format=of.format,
            )
        if found == of.format:
            continue
        if found:
            statements += [each for step in of.steps[found - 1 :] for each in step]
            statements.append(f"DELETE FROM side_tables WHERE feature = '{feature}'")  # noqa: S608
        else:
            for table in of.tables:
                statements += _creation(table, connection)
        statements.append(f"INSERT INTO side_tables VALUES ('{feature}', {of.format})")  # noqa: S608
    return statements


def _creation(table: SideTable, engine: "Connection") -> Iterator[str]:
    """Yield the statements that create a table and its indices."""
    columns = "".join(
        f"{name} {engine.types[type.rstrip('?')]}{'' if type.endswith('?') else ' NOT NULL'}, "
        for name, type in table.types.items()
    )
    yield f"CREATE TABLE {table.name} ({columns}PRIMARY KEY ({table.key})){engine.table_end}"
    for name, indexed in table.indices.items():
        yield f"CREATE INDEX {table.name}_{name} ON {table.name} {indexed}"
