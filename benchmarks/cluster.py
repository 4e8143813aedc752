"""What a cluster bears: nodes killed and added and organizations moved while memories are written.

`python -m benchmarks.cluster --postgres BIN_DIR`, with the folder of programs of a PostgreSQL that has
Citus; it is not among the packages, so this is run by hand. A coordinator and two nodes are started on
this machine, `store distribute` spreads the records, and one thread for each organization keeps writing
memories by the services. Afterwards each memory that a call had acknowledged is looked for, and each
audit trail verified. `--alone` needs no Citus: one server is killed and started again; nor does
`--patroni`: the first of a pair of servers is killed, and the other takes over.
"""

import logging
import shlex
import socket
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg

from benchmarks.measure import Cell, Table, asked, machine, publish, timed_in_turn
from benchmarks.patroni_pair import failover
from benchmarks.writers import (
    COLUMNS,
    ORGANIZATIONS,
    app_on,
    caller_of,
    judged,
    store,
    writing,
)
from minutebook.app import App
from minutebook.features.postgres.store import PostgresStore
from minutebook.text.fusion import Signal
from tests.features.postgres.server import StartedServer

DATABASE = "cluster"
SHARDS = 8


class Node(StartedServer):
    """A server that others reach by a port of this machine."""

    def __init__(self, programs: Path, *, has_citus: bool) -> None:
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.port: int = free.getsockname()[1]
        self._has_citus = has_citus
        super().__init__(16, programs)
        self.make_empty(DATABASE)
        if has_citus:
            self.execute("CREATE EXTENSION citus", DATABASE)

    def start(self, *settings: str) -> None:
        """Start the server, and wait until it answers."""
        cluster = (
            "shared_preload_libraries=citus",
            "wal_level=logical",
            "max_replication_slots=40",
        )
        quiet = ("citus.enable_statistics_collection=off", "citus.node_connection_timeout=5s")
        also = (*cluster, "max_wal_senders=40", *quiet) if self._has_citus else ()
        super().start(f"port={self.port}", "listen_addresses=127.0.0.1", *also, *settings)

    def url(self, database: str = DATABASE) -> str:
        """Return the URL of a database."""
        return url_of([self], database)

    def asked(self, query: str) -> list[tuple[object, ...]]:
        """Return what a query finds."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            return connection.execute(query.encode()).fetchall()


def url_of(nodes: Sequence[Node], database: str = DATABASE) -> str:
    """Return a URL that names several nodes, of which the first that answers is taken."""
    hosts = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
    return f"postgresql://minutebook@{hosts}/{database}"


class Cluster:
    """A coordinator and nodes, with a store that is spread over them."""

    def __init__(self, programs: Path, stack: ExitStack) -> None:
        self._programs = programs
        self._stack = stack
        self.coordinator = self._node()
        self.coordinator.asked(
            f"SELECT citus_set_coordinator_host('127.0.0.1', {self.coordinator.port})"
        )
        self.nodes: list[Node] = []
        for _ in range(2):
            self.add()
        with tempfile.TemporaryDirectory() as folder:
            store = PostgresStore(self.coordinator.url(), Path(folder), writer_wait=30)
            with closing(store):
                store.database.distribute(SHARDS)

    def add(self) -> Node:
        """Start one more node and make it known to the others."""
        node = self._node()
        self.coordinator.asked(f"SELECT citus_add_node('127.0.0.1', {node.port})")
        self.nodes.append(node)
        return node

    def ports(self) -> dict[str, int]:
        """Return the port of the node that holds each organization."""
        rows = self.coordinator.asked(
            "SELECT o.name, n.nodeport FROM organizations AS o JOIN pg_dist_placement AS p"
            " ON p.shardid = get_shard_id_for_distribution_column('feeds', o.number)"
            " JOIN pg_dist_node AS n USING (groupid)"
        )
        return {str(name): int(str(port)) for name, port in rows}

    def _node(self) -> Node:
        node = Node(self._programs, has_citus=True)
        self._stack.callback(node.stop)
        return node


def killed_and_started(node: Node, seconds: float) -> None:
    """Let writers write, kill a node with all its processes, and start it again after a while."""
    time.sleep(seconds)
    node.kill()
    time.sleep(8)
    node.start()
    time.sleep(seconds * 2)


def one_server(programs: Path, seconds: float) -> list[tuple[Cell, ...]]:
    """Kill the only server."""
    with ExitStack() as stack:
        node = Node(programs, has_citus=False)
        stack.callback(node.stop)
        app = stack.enter_context(app_on(node.url()))
        with writing(dict.fromkeys(ORGANIZATIONS, app)) as writers:
            killed_and_started(node, seconds)
        return [judged("one server alone, killed", app, [*writers.values()], "all")]


def node_killed(cluster: Cluster, app: App, seconds: float) -> list[tuple[Cell, ...]]:
    """Kill a node that holds organizations."""
    with writing(dict.fromkeys(ORGANIZATIONS, app)) as writers:
        time.sleep(1)
        killed_and_started(cluster.nodes[1], seconds)
    ports = cluster.ports()
    on_it = [each for name, each in writers.items() if ports[name] == cluster.nodes[1].port]
    others = [each for name, each in writers.items() if ports[name] != cluster.nodes[1].port]
    what = "a node killed"
    return [judged(what, app, on_it, "on it"), judged(what, app, others, "elsewhere")]


def coordinator_killed(cluster: Cluster, app: App, seconds: float) -> list[tuple[Cell, ...]]:
    """Kill the coordinator while some writers name it and another node, some only the other node."""
    either = url_of([cluster.coordinator, cluster.nodes[0]])
    with app_on(either) as first, app_on(cluster.nodes[0].url()) as second:
        half = len(ORGANIZATIONS) // 2
        apps = {name: first if place < half else second for place, name in enumerate(ORGANIZATIONS)}
        with writing(apps) as writers:
            killed_and_started(cluster.coordinator, seconds)
    known = [*writers.values()]
    what = "the coordinator killed"
    return [
        judged(what, app, known[:half], "by it or a node"),
        judged(what, app, known[half:], "by a node"),
    ]


def moved(cluster: Cluster, app: App, seconds: float) -> tuple[list[tuple[Cell, ...]], list[Cell]]:
    """Add a node and move an organization to it; return how long each step took, too."""
    name = ORGANIZATIONS[0]
    took: list[Cell] = []

    def timed(work: Callable[[], object]) -> None:
        started = time.monotonic()
        work()
        took.append(time.monotonic() - started)

    with writing(dict.fromkeys(ORGANIZATIONS, app)) as writers:
        time.sleep(seconds)
        timed(cluster.add)
        ((number,),) = cluster.coordinator.asked(
            f"SELECT number FROM organizations WHERE name = '{name}'"
        )
        timed(
            lambda: cluster.coordinator.asked(
                f"SELECT isolate_tenant_to_new_shard('feeds', {number}, 'CASCADE', 'block_writes')"
            )
        )
        timed(
            lambda: cluster.coordinator.asked(
                "SELECT citus_move_shard_placement("
                f"get_shard_id_for_distribution_column('feeds', {number}),"
                f" '127.0.0.1', {cluster.ports()[name]}, '127.0.0.1', {cluster.nodes[-1].port},"
                " 'force_logical')"
            )
        )
        time.sleep(seconds)
    if cluster.ports()[name] != cluster.nodes[-1].port:
        raise RuntimeError(f"{name} was not moved")
    others = [each for other, each in writers.items() if other != name]
    what = "a node added, an organization moved"
    return [judged(what, app, [writers[name]], "moved"), judged(what, app, others, "others")], took


def rates(programs: Path, cluster: Cluster, seconds: float) -> Table:
    """Count the writes a second of all writers together, on one server and on the cluster."""
    rows: list[tuple[Cell, ...]] = []

    def counted(where: str, apps: Mapping[str, App]) -> None:
        with writing(apps) as writers:
            time.sleep(seconds)
        rows.append((where, sum(len(each.at) for each in writers.values()) / seconds))

    with ExitStack() as stack:
        alone = Node(programs, has_citus=False)
        stack.callback(alone.stop)
        one = stack.enter_context(app_on(alone.url()))
        by = [
            stack.enter_context(app_on(node.url()))
            for node in (cluster.coordinator, *cluster.nodes[:2])
        ]
        for _ in range(2):
            counted("one server", dict.fromkeys(ORGANIZATIONS, one))
            counted("cluster, by the coordinator", dict.fromkeys(ORGANIZATIONS, by[0]))
            counted(
                "cluster, by two nodes",
                {name: by[1 + place % 2] for place, name in enumerate(ORGANIZATIONS)},
            )
    note = "all servers and writers share the machine, so a cluster has no more processors than one server"
    return Table("Eight writers together", ("where", "writes a second"), rows, note)


def latency(programs: Path, cluster: Cluster, rounds: int) -> Table:
    """Time a write and a search on one server, by the coordinator and by a node, in turn."""
    with ExitStack() as stack:
        alone = Node(programs, has_citus=False)
        stack.callback(alone.stop)
        urls = {"one server": alone.url(), "cluster, by the coordinator": cluster.coordinator.url()}
        urls["cluster, by a node"] = cluster.nodes[0].url()
        apps = {where: stack.enter_context(app_on(url)) for where, url in urls.items()}
        writes, searches = {}, {}
        for where, app in apps.items():
            caller = caller_of(app, "measured")
            for number in range(100):
                store(app, caller, number)
            writes[where] = (
                lambda n, app=app, caller=caller: store(app, caller, n),
                time.process_time,
            )
            searches[where] = (
                lambda n, app=app, caller=caller: app.recall.recall(
                    caller, f"which service retries {n % 7} times", 10, dict.fromkeys(Signal, 1.0)
                ),
                time.process_time,
            )
        written, found = timed_in_turn(writes, rounds), timed_in_turn(searches, rounds)
    return Table(
        "One call, nobody else calling; ms",
        ("where", "write, median", "p99", "search, median", "p99"),
        [(w, written[w].p50, written[w].p99, found[w].p50, found[w].p99) for w in apps],
        "the two ways into the cluster lead to one store",
    )


def main() -> None:
    """Measure and publish."""
    parser = asked("Kill, add and move nodes of a cluster while memories are written.")
    parser.add_argument("--postgres", type=Path, required=True, help="the folder of its programs")
    parser.add_argument("--alone", action="store_true", help="one server, without Citus")
    parser.add_argument(
        "--patroni",
        metavar="COMMAND",
        type=shlex.split,
        help="the command that runs Patroni: a pair of servers instead, without Citus; needs etcd",
    )
    given = parser.parse_args()
    # It tells of each connection that is refused while a node is away.
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    seconds = 2.0 if given.quick else 8.0
    method = machine()
    tables: list[Table] = []
    if given.patroni:
        rows, seen = failover(given.postgres, given.patroni, seconds)
        tables.append(seen)
    else:
        rows = one_server(given.postgres, seconds)
    if not (given.alone or given.patroni):
        with ExitStack() as stack:
            cluster = Cluster(given.postgres, stack)
            (version,) = cluster.coordinator.asked("SELECT citus_version()")
            method["citus"] = str(version[0]).partition(" on ")[0]
            with app_on(cluster.coordinator.url()) as app:
                rows += node_killed(cluster, app, seconds)
            with app_on(cluster.nodes[1].url()) as app:
                rows += coordinator_killed(cluster, app, seconds)
            tables.append(rates(given.postgres, cluster, seconds))
            tables.append(latency(given.postgres, cluster, 20 if given.quick else 60))
            with app_on(cluster.coordinator.url()) as app:
                further, took = moved(cluster, app, seconds)
                rows += further
            steps = ("node added", "organization put into a shard of its own", "shard moved")
            tables.append(Table("Steps of the move, s", steps, [tuple(took)]))
    note = "errors are calls that failed; a writer tries again after 0.1 s; a killed one stays away for 8 s"
    tables.insert(0, Table("Eight writers, an organization each", COLUMNS, rows, note))
    publish("failover" if given.patroni else "cluster", method, tables, quick=given.quick)


if __name__ == "__main__":
    main()
