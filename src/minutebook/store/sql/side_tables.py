"""Tables that features keep beside the records: described once, made by each engine in its own words."""

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

    `columns` are names and types: name (a text without a word of a record: an id, a name, a digest, several of them), words
    (a text with such words), images (JSON of records as they were), integer, instant (microseconds since 1970, UTC) and
    real, with "?" where NULL is a value too. If the first is `organization integer`, the number of one, the rows move with its records to another
    engine; others belong to the machine. `indices` are columns, by the end of the index' name.
    """

    name: str
    columns: str
    key: str
    indices: Mapping[str, str]
    goes_with: Collection[Kind] = ()
    """Kinds of records that a row names by `kind` and `id`, and with which it goes."""
    keeps_deletions: bool = False
    """Whether somebody follows the deletions of records as long as there is a row."""
    is_kept_without_words: bool = False
    """Whether a row still tells something once its words are removed."""

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
        """Whether a column holds records as they were."""
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
    """The tables of a feature, and the way there from earlier formats of them.

    Step n leads from format n + 1 to the next, by statements that both engines understand; a released one never changes.
    """

    tables: Sequence[SideTable]
    steps: Sequence[Sequence[str]] = ()

    @property
    def format(self) -> int:
        """The number of their format, which a database notes."""
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


def going_with(kind: Kind) -> Iterator[SideTable]:
    """Yield the tables of which rows go with a record of a kind."""
    return (each for each in all_tables() if kind in each.goes_with)


def are_deletions_kept(connection: "Connection") -> bool:
    """Tell whether somebody follows the deletions of records."""
    return any(
        connection.row(f"SELECT 1 FROM {each.name} LIMIT 1")  # noqa: S608
        for each in all_tables()
        if each.keeps_deletions
    )


def missing(connection: "Connection", place: object) -> list[str]:
    """Return the statements that make the tables which a database lacks, or bring them to their present format.

    Raises StoreTooNew if a later version made those of a feature. The tables of features that are not there stay.
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
            statements += [each for table in of.tables for each in _made(table, connection)]
        statements.append(f"INSERT INTO side_tables VALUES ('{feature}', {of.format})")  # noqa: S608
    return statements


def _made(table: SideTable, words: "Connection") -> Iterator[str]:
    columns = "".join(
        f"{name} {words.types[type.rstrip('?')]}{'' if type.endswith('?') else ' NOT NULL'}, "
        for name, type in table.types.items()
    )
    yield f"CREATE TABLE {table.name} ({columns}PRIMARY KEY ({table.key})){words.table_end}"
    for name, indexed in table.indices.items():
        yield f"CREATE INDEX {table.name}_{name} ON {table.name} {indexed}"
