"""What the manifests and texts of a release say, before anything is built."""

import json
import re
import subprocess
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

import pytest
import yaml

from minutebook import __version__
from minutebook.features.install.known_clients import CLIENTS
from minutebook.features.install.served import agent_tools
from minutebook.serve.contracts.announced import SKILL_FILE
from tests.test_guides import ROOT, parsed
from tools.packages.archives import write_zip
from tools.packages.extensions import EXTENSIONS, PORTABLE, Files, commands, server
from tools.packages.facts import Facts, facts_of
from tools.packages.registries import server_json
from tools.packages.requirements import released, unlocked

pytestmark = pytest.mark.whole

FACTS = facts_of(ROOT)
AGENT_TOOLS = [name for names in agent_tools().values() for name in names]
SKILL = Path(SKILL_FILE).read_text(encoding="utf-8")


def files(client: str) -> Files:
    return EXTENSIONS[client].files(FACTS, ROOT)


def test_the_facts_are_those_of_the_package() -> None:
    assert FACTS.version == __version__
    assert FACTS.pythons == ">=3.11 <3.15"
    compose = (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8")
    assert f"image: {FACTS.name}:{FACTS.version}\n" in compose


def test_a_python_that_is_claimed_is_in_the_table_of_those_that_were_tested() -> None:
    page = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8")
    assert FACTS.minors
    for minor in FACTS.minors:
        assert re.search(rf"^\| 3\.{minor}\.\d+ \| .* \| [^|]*pass", page, re.MULTILINE), minor


def test_an_address_that_belongs_to_nobody_is_found() -> None:
    ours = Facts("n", "1", "d", "a", "l", (), {"Homepage": "https://n.dev", "Source": ""}, (11,))
    assert ours.placeholders() == [""]
    assert ours.registry_name == "dev.n/n"
    reserved = Facts("n", "1", "d", "a", "l", (), {"Homepage": "https://n.example/x"}, (11,))
    assert reserved.placeholders() == ["https://n.example/x"]


def test_the_readme_has_the_name_by_which_the_registry_knows_the_package() -> None:
    assert f"<!-- mcp-name: {FACTS.registry_name} -->" in (ROOT / "README.md").read_text()


def test_what_the_registry_is_told_is_short_enough() -> None:
    told = server_json(FACTS, "m.mcpb", "0" * 64)
    assert 1 <= len(told["description"]) <= 100


@pytest.mark.parametrize("client", EXTENSIONS)
def test_an_extension_is_of_a_client_that_install_knows_and_says_how_to_get_it(client: str) -> None:
    page = files(client)["README.md"].decode()
    assert "{" not in page
    assert FACTS.urls["Documentation"] in page
    if client != PORTABLE:
        assert client in CLIENTS
        assert parsed(["install", client, "--remove"]) == "install"


@pytest.mark.parametrize("client", EXTENSIONS)
def test_an_extension_has_one_version_and_starts_our_server(client: str) -> None:
    made = files(client)
    objects = [json.loads(text) for name, text in made.items() if name.endswith(".json")]
    assert {each["version"] for each in objects if "version" in each} == {__version__}
    servers = [each["mcpServers"] for each in objects if isinstance(each.get("mcpServers"), dict)]
    transport = {"type": "stdio"} if client == PORTABLE else {}
    assert servers == [{"minutebook": {**transport, **server(client)}}]
    assert parsed(server(client)["args"]) == "serve"


@pytest.mark.parametrize("client", EXTENSIONS)
def test_an_extension_serves_the_tools_that_stand_before_an_agent_and_has_the_skill(
    client: str,
) -> None:
    arguments = server(client)["args"]
    assert arguments[arguments.index("--tools") + 1].split(",") == AGENT_TOOLS
    (skill,) = (text for name, text in files(client).items() if name.endswith("/SKILL.md"))
    assert skill == SKILL.encode()


def test_the_portable_plugin_has_the_fields_of_its_format_alone() -> None:
    made = files(PORTABLE)
    assert set(made) == {
        "plugin.json",
        "mcp.json",
        "skills/minutebook/SKILL.md",
        "README.md",
        "LICENSE",
    }
    plugin, mcp = json.loads(made["plugin.json"]), json.loads(made["mcp.json"])
    assert plugin["$schema"].rsplit("/", 1)[0] == mcp["$schema"].rsplit("/", 1)[0]
    assert set(plugin) <= {
        *("$schema", "name", "version", "description", "author", "homepage", "repository"),
        *("license", "keywords", "extensions"),
    }
    assert set(mcp) == {"$schema", "mcpServers"}


@pytest.mark.parametrize("client", EXTENSIONS)
def test_no_mark_of_ours_is_left_in_a_text(client: str) -> None:
    for name, text in files(client).items():
        assert b"{arguments}" not in text, name


def test_what_a_person_adds_reaches_each_command() -> None:
    for name in commands(ROOT):
        assert b"$ARGUMENTS" in files("claude-code")[f"commands/{name}.md"]
        prompt = tomllib.loads(files("gemini")[f"commands/minutebook/{name}.toml"].decode())
        assert "{{args}}" in prompt["prompt"]


def test_skill_and_commands_name_tools_that_the_extensions_serve() -> None:
    words = {*AGENT_TOOLS, "superseded_by", "memory_type", "semantic", "procedural", "episodic"}
    texts = [SKILL, *(each.body for each in commands(ROOT).values())]
    named = {word for text in texts for word in re.findall(r"`([a-z_]+)`", text)}
    assert {"recall", "store_memory", "record_decision"} <= named <= words


def test_the_skill_is_short_and_says_when_to_use_it() -> None:
    _, head, body = SKILL.split("---\n", 2)
    fields = yaml.safe_load(head)
    assert fields["name"] == FACTS.name
    assert "Use before" in fields["description"]
    assert len(fields["description"]) <= 1024
    assert len(body.split()) <= 500


def test_a_hook_of_the_plugin_says_nothing_where_the_program_is_missing(tmp_path: Path) -> None:
    hooks = json.loads(files("claude-code")["hooks/hooks.json"])["hooks"]
    commands = {each["command"] for [group] in hooks.values() for each in group["hooks"]}
    assert len(commands) == 1
    ended = subprocess.run(
        ["/bin/sh", "-c", commands.pop()],
        env={"PATH": str(tmp_path)},
        input="{}",
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


LOCK = """\
b==1.0 ; sys_platform == 'win32' \\
    --hash=sha256:{0}
    # via
    #   a
    #   tool
a[x]==2.0 \\
    --hash=sha256:{1} \\
    --hash=sha256:{0}
    # via minutebook (pyproject.toml)
tool==3.0 \\
    --hash=sha256:{0}
    # via minutebook (pyproject.toml:dev)
c==4.0 ; python_full_version < '3.12' \\
    --hash=sha256:{0}
    # via b
c==5.0 ; python_full_version >= '3.12' \\
    --hash=sha256:{1}
    # via b
""".format("0" * 64, "1" * 64)


def test_a_release_takes_from_the_lock_what_it_needs_and_nothing_of_development() -> None:
    needed = released(LOCK)
    assert [each.pin for each in needed] == [
        "b==1.0; sys_platform == 'win32'",
        "a==2.0",
        "c==4.0; python_full_version < '3.12'",
        "c==5.0; python_full_version >= '3.12'",
    ]
    assert (
        needed[1].line
        == f"a==2.0 \\\n    --hash=sha256:{'1' * 64} \\\n    --hash=sha256:{'0' * 64}\n"
    )


def test_a_lock_of_another_form_is_refused() -> None:
    with pytest.raises(ValueError, match="must say of some entry"):
        released("a==1.0\n    # via b\n")
    with pytest.raises(ValueError, match="name==version"):
        released("a @ https://a.example/a.whl\n")


def test_the_lock_has_all_that_is_required() -> None:
    assert unlocked(ROOT) == []
    names = {each.name for each in released((ROOT / "requirements.lock").read_text())}
    assert {"mcp", "numpy", "tree-sitter-c-sharp", "pydantic-core"} <= names
    assert not names & {"pytest", "hatchling", "uv", "psycopg"}


def test_an_archive_is_the_same_whatever_the_order_and_the_clock(tmp_path: Path) -> None:
    contents = {"b/c": b"1", "a": b"2"}
    write_zip(tmp_path / "1", contents, 1_800_000_000)
    write_zip(tmp_path / "2", dict(reversed(contents.items())), 1_800_000_000)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    write_zip(tmp_path / "3", contents, 0)
    with zipfile.ZipFile(tmp_path / "3") as archive:
        assert [each.date_time[0] for each in archive.infolist()] == [1980, 1980]


@pytest.mark.parametrize("client", ["claude-code", "codex", "cursor"])
def test_a_plugin_has_a_display_name_and_an_icon_that_is_there(client: str) -> None:
    made = files(client)
    ((path, manifest),) = [
        (each, json.loads(made[each])) for each in made if each.endswith("-plugin/plugin.json")
    ]
    shown = manifest | manifest.get("interface", {})
    assert shown["displayName"] == FACTS.title
    icon = PurePosixPath(path).parent.parent / (shown.get("icon") or shown["logo"])
    assert made[str(icon)].startswith(b"<svg")
