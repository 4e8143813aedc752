"""The placement of rows on the machines of a Citus cluster; those of an organization are together."""

from psycopg import Connection

from minutebook.record.errors import StoreError
from minutebook.store.sql.side_tables import all_tables
from minutebook.store.sql.tables import ALL_TABLES
from minutebook.store.values import Placement

ON_EVERY_NODE = ("organizations", "spaces", "identity", "format", "migration", "side_tables")
"""Small tables without records, which are the same on all nodes."""

BY_KEY = {"leases": "name", "uses": "token", "shared_values": "name", "numbers": "what"}
"""Tables with rows of no organization, each with the column of its key."""

BY_ORGANIZATION = (
    *("feeds", "deletions", "names", "migrated"),
    *(table.name for table in ALL_TABLES),
)
"""Tables with rows of organizations; the first is the one that writers lock first."""

_COORDINATOR = 0


def by_organization() -> list[str]:
    """Return BY_ORGANIZATION with the tables of features."""
    return [*BY_ORGANIZATION, *(each.name for each in all_tables() if each.is_by_organization)]


def by_key() -> dict[str, str]:
    """Return BY_KEY with the tables of features."""
    return BY_KEY | {
        each.name: each.leading for each in all_tables() if not each.is_by_organization
    }


# So a statement sees on each node the effects of those before it.
_SEQUENTIAL = "SET LOCAL citus.multi_shard_modify_mode TO 'sequential'"


def plan(connection: Connection, place: str, shards: int) -> list[str]:
    """Return the statements that place the tables which are not placed yet, on `shards` shards.

    Raises StoreError if the database has no Citus, or this node is not the coordinator.
    """
    if not _has_citus(connection):
        raise StoreError(
            "{place}: Citus is not in this database. On each node put it into shared_preload_libraries and run "
            "CREATE EXTENSION citus in the database, then make the nodes known by citus_set_coordinator_host and "
            "citus_add_node. Nothing was changed",
            place=place,
        )
    _check_coordinator(connection, place)
    unplaced = _unplaced(connection)
    shards = _shards(connection) or shards
    return [statement for table, statement in _statements(shards).items() if table in unplaced]


def distribute(connection: Connection, place: str, shards: int) -> list[str]:
    """Run the statements of `plan` in one transaction, so that no query finds half of the tables placed; return them.

    The coordinator's own copies of the placed rows are deleted afterwards.
    """
    with connection.transaction():
        # Of several processes that do this at once, one does it and the others find it done.
        connection.execute("LOCK TABLE format IN EXCLUSIVE MODE")
        statements = plan(connection, place, shards)
        _run(connection, statements)
    for table in _tables_kept_twice(connection):
        connection.execute(
            "SELECT truncate_local_data_after_distributing_table(%s::text::regclass)", (table,)
        )
    return statements


def begin_change(connection: Connection, place: str) -> None:
    """Prepare a transaction for a change of the tables, wherever they are placed.

    Raises StoreError if this node may not change them.
    """
    if _has_citus(connection) and _is_placed(connection):
        _check_coordinator(connection, place)
        connection.execute(_SEQUENTIAL)
        # Else a writer could wait for a table here while the change waits for the writer's rows elsewhere.
        connection.execute("LOCK TABLE feeds IN EXCLUSIVE MODE")


def place_new(connection: Connection, place: str) -> None:
    """Place the tables that a change has made, if the others are placed."""
    if _has_citus(connection) and (shards := _shards(connection)):
        _run(connection, plan(connection, place, shards))


def placement(connection: Connection) -> Placement:
    """Return the numbers of nodes and shards of the records."""
    shards = _shards(connection) if _has_citus(connection) else 0
    if not shards:
        return Placement()
    ((nodes,),) = connection.execute(
        "SELECT count(DISTINCT p.groupid) FROM pg_dist_placement AS p"
        " JOIN pg_dist_shard AS s USING (shardid) WHERE s.logicalrelid = 'feeds'::regclass"
    ).fetchall()
    return Placement(int(nodes), shards)


def faults(connection: Connection) -> list[tuple[str, str]]:
    """Return the faults of the placement, each with its remedy: tables not placed, nodes that cannot reach another."""
    if not _has_citus(connection) or not _is_placed(connection):
        return []
    found = [
        (f"The table {table} is on one node alone.", "run `minutebook store distribute`")
        for table in _unplaced(connection)
    ]
    rows = connection.execute(
        "SELECT from_nodename, from_nodeport, to_nodename, to_nodeport"
        " FROM citus_check_cluster_node_health() WHERE result IS NOT TRUE"
    )
    return found + [
        (
            f"The node {source}:{source_port} cannot reach the node {target}:{target_port}.",
            "start it, or see to the network and pg_hba.conf between them",
        )
        for source, source_port, target, target_port in rows
    ]


def size(connection: Connection) -> int:
    """Return the bytes that the database takes, on all nodes that can be reached."""
    on_node = "SELECT pg_database_size(current_database())"
    if _has_citus(connection) and _is_placed(connection):
        on_all = "SELECT result::bigint FROM run_command_on_all_nodes(%s) WHERE success"
        return sum(size for (size,) in connection.execute(on_all, (on_node,)))
    ((found,),) = connection.execute(on_node.encode()).fetchall()
    return int(found)


def _has_citus(connection: Connection) -> bool:
    """Tell whether the database has Citus."""
    found = connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'citus'")
    return found.fetchone() is not None


def _check_coordinator(connection: Connection, place: str) -> None:
    """Raise StoreError if this node is not the coordinator, which alone may change tables and their placement."""
    found = connection.execute("SELECT groupid FROM pg_dist_local_group").fetchone()
    if found is not None and found[0] != _COORDINATOR:
        raise StoreError(
            "{place}: this node is not the cluster's coordinator, which alone changes tables; name the "
            "coordinator in `store` for this. Nothing was changed",
            place=place,
        )


def _is_placed(connection: Connection) -> bool:
    found = connection.execute(
        "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = to_regclass('feeds')"
    )
    return found.fetchone() is not None


def _unplaced(connection: Connection) -> list[str]:
    rows = connection.execute(
        "SELECT relname FROM pg_class AS c"
        " WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')"
        " AND NOT EXISTS (SELECT 1 FROM pg_dist_partition AS p WHERE p.logicalrelid = c.oid)"
    )
    there = {table for (table,) in rows}
    return [table for table in _statements(0) if table in there]


def _shards(connection: Connection) -> int:
    """Return the number of shards of the tables, 0 if they are not placed."""
    ((found,),) = connection.execute(
        "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = to_regclass('feeds')"
    ).fetchall()
    return int(found)


def _tables_kept_twice(connection: Connection) -> list[str]:
    """Return the placed tables of which the coordinator still has its own copy of the rows."""
    rows = connection.execute(
        "SELECT logicalrelid::text FROM pg_dist_partition WHERE pg_relation_size(logicalrelid) > 0"
    )
    twice = {table for (table,) in rows}
    return [table for table in _statements(0) if table in twice]


def _run(connection: Connection, statements: list[str]) -> None:
    connection.execute(_SEQUENTIAL)
    for statement in statements:
        connection.execute(statement.encode())


def _statements(shards: int) -> dict[str, str]:
    """Return the statement that places each table, in order: writers wait at the first."""
    first, *others = by_organization()
    distributing = "SELECT create_distributed_table('{}', '{}', colocate_with := '{}'{})"
    count = f", shard_count := {shards}"
    return {
        first: distributing.format(first, "organization", "none", count),
        **{table: distributing.format(table, "organization", first, "") for table in others},
        **{
            table: distributing.format(table, key, "none", count) for table, key in by_key().items()
        },
        **{table: f"SELECT create_reference_table('{table}')" for table in ON_EVERY_NODE},
    }
