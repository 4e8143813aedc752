"""The demo: a real MCP client calls a real server over stdio, on a store of its own."""

import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import click
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from minutebook.cli.printing import echo, style
from minutebook.feature import features
from minutebook.record.reason import count_of
from minutebook.serve.contracts.registry import CONTRACTS
from minutebook.serve.launch import module_command

MEMORIES = {
    "port": "The staging database listens on port 5432.",
    "retry": "Failed payments are retried three times, then a person at Hofmann GmbH is called.",
    "spanish": "El despliegue a producción se hace los martes, nunca los viernes.",
    "tokens": "Session tokens are checked in auth/verify.py by check_session_token().",
    "ada": "Ada prefers short pull requests with one idea each.",
    "billing": "The billing service talks to the ledger over gRPC.",
    "outage": "In March the ledger was down for two hours because its disk was full.",
}


VECTORS_WITHIN = 60.0
"""Seconds that the demo waits for the vectors of the code, before it asks for code by meaning."""


class Story:
    """Calls the server's tools, and prints each step."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, tool: str, **arguments: Any) -> Mapping[str, Any]:
        """Call a tool, and return its result. Raises SystemExit if it fails."""
        result = await self._client.call_tool(tool, arguments)
        if result.is_error or not isinstance(result.structured_content, Mapping):
            raise SystemExit(f"{tool} failed: {result.content}")
        return result.structured_content

    async def ask(self, tool: str, query: str, why: str) -> list[Mapping[str, Any]]:
        """Ask a question, print the best answers with their signals, and return them; `why` is printed before."""
        _step(f"{tool}  “{query}”", why)
        answer = await self.call(tool, query=query, limit=3)
        results: list[Mapping[str, Any]] = list(answer["results"])
        for rank, result in enumerate(results, 1):
            echo(f"   {rank}. {result['score']:.2f}  {result['content']}")
            if "vector_score" in result:
                signals = (
                    f"vector {result['vector_score']:.2f} · words {result['bm25_score']:.2f} · "
                    f"graph {result['ppr_score']:.2f}"
                )
                echo(style(f"            {signals}", dim=True))
        return results


def run(*, keep: bool) -> int:
    """Run the demo; return the exit status, 0 if every step gave the expected answer."""
    home = Path(tempfile.mkdtemp(prefix="minutebook-demo-"))
    try:
        return anyio.run(_play, home)
    finally:
        if keep:
            echo("")
            echo(f"The demo's memory is in {home}; try: minutebook list --home {home}")
        else:
            shutil.rmtree(home, ignore_errors=True)


async def _play(home: Path) -> int:
    served = [name for name in ("knowledge", "ledger") if name in CONTRACTS]
    program, *arguments = module_command(
        "minutebook", "serve", "--no-daemon", *served, "--home", str(home)
    )
    server = StdioServerParameters(command=program, args=arguments)
    echo(style("Minutebook, over stdio, as an agent sees it", bold=True), "")
    async with Client(server) as client:
        story = Story(client)
        names = [each.name for each in (await client.list_tools()).tools]
        echo(f"Connected: {len(names)} tools, protocol {client.protocol_version}.")
        ids = await _remember(story)
        has_model = any(each.models.embedders for each in features())
        if not has_model:
            echo("There is no model here: words and the graph answer alone.")
        chapters = [
            await _recall(story, ids, has_model=has_model),
            await _walk(story, ids),
            await _supersede(story, ids),
            await _code(story) if "index_project" in names else [],
            await _decide(story) if "ledger" in served else [],
        ]
        status = await story.call("get_status")
        model = status["embedding"]
        echo(
            "",
            f"{count_of(status['memories_count'], 'memory', 'memories')}, {count_of(status['entities_count'], 'entity', 'entities')}; model "
            f"{model['model']} ({model['dimensions']} dimensions), {model['status']}, in this process.",
        )
    return _verdict([failure for failures in chapters for failure in failures])


def _verdict(failures: list[str]) -> int:
    """Print the failures, and return the exit status."""
    for failure in failures:
        echo(style(f"Not as expected: {failure}", fg="red"))
    if not failures:
        echo(style("Every answer was the expected one.", fg="green"))
    return 1 if failures else 0


async def _remember(story: Story) -> dict[str, str]:
    _step("store_memory × 7", "Facts go in as plain sentences; one of them in Spanish.")
    ids = {}
    for name, content in MEMORIES.items():
        ids[name] = str((await story.call("store_memory", content=content))["id"])
        echo(f"   + {content}")
    return ids


async def _recall(story: Story, ids: Mapping[str, str], *, has_model: bool) -> list[str]:
    questions = [
        (
            "recall",
            "what happens when a customer's card is declined",
            "By meaning: no word of the question is in the answer.",
            "retry",
        ),
        (
            "search_text",
            "check_session_token",
            "By keyword: an identifier, whole or in part.",
            "tokens",
        ),
        (
            "search",
            "on which weekday do we release?",
            "Across languages: asked in English, known in Spanish.",
            "spanish",
        ),
    ]
    failures = []
    for tool, query, why, expected in questions:
        if not has_model and tool != "search_text":
            continue
        results = await story.ask(tool, query, why)
        if not results or results[0]["id"] != ids[expected]:
            failures.append(f"{tool} “{query}” did not put “{MEMORIES[expected]}” first")
    return failures


async def _walk(story: Story, ids: Mapping[str, str]) -> list[str]:
    _step(
        "create_entity, create_relation",
        "Ada owns the ledger, the billing service uses it. Memories that name them join by themselves.",
    )
    people = {}
    for name, kind in (("Ada", "person"), ("ledger", "service"), ("billing service", "service")):
        people[name] = (await story.call("create_entity", name=name, entity_type=kind))["id"]
    for source, target, kind in (("Ada", "ledger", "owns"), ("billing service", "ledger", "uses")):
        await story.call(
            "create_relation",
            from_entity=people[source],
            to_entity=people[target],
            relation_type=kind,
        )
        echo(f"   {source} —{kind}→ {target}")
    results = await story.ask(
        "recall",
        "what has gone wrong for Ada?",
        "Through the graph: the outage does not name Ada; her service does.",
    )
    outage = next((each for each in results if each["id"] == ids["outage"]), None)
    if outage is None or outage["ppr_score"] <= 0:
        return ["the graph did not lead from Ada to the outage"]
    return []


async def _supersede(story: Story, ids: Mapping[str, str]) -> list[str]:
    before = (await story.call("get_memory", id=ids["port"]))["ingestion_time"]
    _step("store_memory, invalidate", "The port changed. The old fact ends; it is not lost.")
    new = await story.call("store_memory", content="The staging database listens on port 6543.")
    await story.call(
        "invalidate", id=ids["port"], reason="moved behind the pooler", superseded_by=new["id"]
    )
    results = await story.ask(
        "recall", "staging database port 5432", "The old words lead to the new fact."
    )
    then = await story.call("get_valid_at", timestamp=before, limit=100)
    was = next((each for each in then["results"] if "port" in each["content"]), None)
    _step(f"get_valid_at  {before}", "And what was true before?")
    echo(f"   {was['content'] if was else 'nothing about the port'}")
    failures = []
    if not results or results[0]["id"] != new["id"]:
        failures.append("recall did not lead to the new port")
    if was is None or "5432" not in was["content"]:
        failures.append("the past did not answer with the old port")
    return failures


async def _code(story: Story) -> list[str]:
    root = Path(sysconfig.get_path("stdlib")) / "json"
    _step(
        f"index_project  {root}", "Code is cut at its definitions and found by meaning and by name."
    )
    indexed = await story.call("index_project", path=str(root))
    echo(f"   {indexed['files_indexed']} files, {indexed['chunks_created']} chunks")
    progress = indexed
    with anyio.move_on_after(VECTORS_WITHIN):
        while progress["pending_chunks"]:
            await anyio.sleep(0.1)
            progress = await story.call("get_index_status", project_id=indexed["project_id"])
    failures = []
    for query, why, expected in (
        ("where are broken documents reported", "By meaning:", "JSONDecodeError"),
        ("JSONDecoder.raw_decode", "By name:", "JSONDecoder.raw_decode"),
    ):
        _step(f"search_code  “{query}”", why)
        found = (await story.call("search_code", query=query, limit=3))["results"]
        for rank, each in enumerate(found, 1):
            where = f"{each['file_path']}:{each['start_line']}"
            echo(f"   {rank}. {each['score']:.2f}  {where}  {each['name'] or ''}")
        if expected not in {each["name"] for each in found}:
            failures.append(f"search_code “{query}” did not find {expected}")
    return failures


async def _decide(story: Story) -> list[str]:
    _step(
        "record_decision, supersede_decision", "A decision is a commit; the next one replaces it."
    )
    first = await story.call(
        "record_decision",
        title="Sessions are kept in Redis",
        target="session store",
        rationale="Any node can read them, and they expire by themselves.",
    )
    echo("   ● session store: Sessions are kept in Redis")
    second = await story.call(
        "supersede_decision",
        old_decision_ids=[first["decision_id"]],
        title="Sessions are signed cookies",
        target="session store",
        rationale="The cache was a second thing to run, for a few bytes a user.",
    )
    echo("   ● session store: Sessions are signed cookies")
    query = "do we keep sessions in redis"
    _step(f"search_decisions  “{query}”", "Old words lead to what holds now.")
    found = (await story.call("search_decisions", query=query))["results"]
    for rank, each in enumerate(found, 1):
        echo(f"   {rank}. {each['score']:.2f}  {each['status']}  {each['preview']}")
    if [each["id"] for each in found][:1] != [second["decision_id"]]:
        return ["search_decisions did not lead to the decision that holds"]
    return []


def _step(title: str, why: str) -> None:
    echo("")
    echo(style(title, bold=True))
    echo(style(f"   {why}", fg="cyan"))


@click.command(short_help="Show what it does, on a store of its own.")
@click.option("--keep", is_flag=True, help="Keep the demo's data directory and say where it is.")
def demo(keep: bool) -> None:  # noqa: FBT001
    """Show the main job on a store of its own, over a real MCP connection."""
    sys.exit(run(keep=keep))


COMMANDS = (demo,)
