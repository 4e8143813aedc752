"""What `make dist` builds: whole, valid by the tools of those who read it, the same each time, and it runs."""

import email
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import anyio
import packaging.metadata
import pytest
import tree_sitter
import tree_sitter_ruby
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from minutebook import __version__
from minutebook.features.models.built_in import model_files
from tests.conformance.npm import needs_npm, ran
from tests.test_guides import ROOT
from tools.packages import __main__ as packages
from tools.packages.extensions import EXTENSIONS

# The build backend and what is installed are to start in an interpreter of their own.
pytestmark = [pytest.mark.thorough, pytest.mark.cold_start, pytest.mark.whole]

EPOCH = 1_800_000_000
WHEEL = f"minutebook-{__version__}-py3-none-any.whl"
SDIST = f"minutebook-{__version__}.tar.gz"
BUNDLE = f"minutebook-{__version__}.mcpb"
REQUIREMENTS = f"minutebook-{__version__}-requirements.txt"
FILES = "minutebook/features/models/built_in/files/"
LARGEST_WHEEL = 100_000_000
"""Bytes that a package registry takes without asking."""
PROGRAMS = Path(sys.executable).parent


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that is built, once for the tests of this module."""
    out = tmp_path_factory.mktemp("dist") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", str(EPOCH))
        packages.build(ROOT, out)
    return out


@pytest.fixture(scope="module")
def unpacked(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each extension, and the bundle, in a folder by its name; server.json in one of its own."""
    folder = tmp_path_factory.mktemp("unpacked")
    for client in EXTENSIONS:
        with zipfile.ZipFile(dist / f"minutebook-{client}-{__version__}.zip") as archive:
            archive.extractall(folder / client)
    with zipfile.ZipFile(dist / BUNDLE) as archive:
        archive.extractall(folder / "bundle")
    (folder / "registry").mkdir()
    (folder / "registry" / "server.json").write_bytes((dist / "server.json").read_bytes())
    return folder


def test_everything_is_built_and_listed_with_its_digest(dist: Path) -> None:
    lines = (dist / packages.DIGESTS).read_text().splitlines()
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    zips = {f"minutebook-{client}-{__version__}.zip" for client in EXTENSIONS}
    others = {WHEEL, SDIST, BUNDLE, REQUIREMENTS, "server.json", "minutebook.rb"}
    assert set(listed) == zips | others | {f"minutebook-{__version__}.cdx.json"}
    assert {path.name for path in dist.iterdir()} == {*listed, packages.DIGESTS}
    for name, digest in listed.items():
        assert hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest
    described = json.loads((dist / "server.json").read_text())["packages"][1]
    assert described["fileSha256"] == listed[BUNDLE]


def test_the_sdist_builds_the_same_wheel_elsewhere(
    dist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # From the sdist, at another place, in another zone: it has all that the wheel needs.
    with tarfile.open(dist / SDIST) as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    packages.build_python(tmp_path / f"minutebook-{__version__}", tmp_path / "out", EPOCH, "wheel")
    assert (tmp_path / "out" / WHEEL).read_bytes() == (dist / WHEEL).read_bytes()


@pytest.mark.slow
def test_the_same_sources_give_the_same_release(
    dist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(EPOCH))
    packages.build(ROOT, tmp_path / "out")
    digests = (tmp_path / "out" / packages.DIGESTS).read_bytes()
    assert digests == (dist / packages.DIGESTS).read_bytes()


def test_the_wheel_has_what_runs_and_nothing_else(dist: Path) -> None:
    with zipfile.ZipFile(dist / WHEEL) as archive:
        names = archive.namelist()
        meta = archive.read(f"minutebook-{__version__}.dist-info/METADATA")
    ours = [name for name in names if not name.startswith(f"minutebook-{__version__}.dist-info/")]
    assert {name.partition("/")[0] for name in ours} == {"minutebook"}
    assert not [name for name in ours if name.endswith((".po", ".pot", ".pyc", ".env", ".db"))]
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "minutebook").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    # What is written for who reads the code: its links lead out of the package.
    pages = {name for name in sources if re.fullmatch(r"minutebook/features/\w+/README\.md", name)}
    tracked = {name for name in sources if not name.endswith((".po", ".pot"))}
    assert set(ours) == tracked - pages
    assert {name for name in ours if name.startswith(FILES)} == {
        f"{FILES}{path.name}" for path in model_files.FILES.iterdir()
    }
    assert (dist / WHEEL).stat().st_size < LARGEST_WHEEL
    assert [name for name in ours if name.endswith(".mo")]
    assert [name for name in ours if name.startswith("minutebook/features/pages/static/")]
    said = packaging.metadata.Metadata.from_email(meta, validate=True)
    assert said.project_urls
    assert {"Homepage", "Source", "Issues", "Releases"} <= set(said.project_urls)
    assert email.message_from_bytes(meta)["Description-Content-Type"] == "text/markdown"


def lint(*folders: Path) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [
        PROGRAMS / "skillsaw",
        "lint",
        "--strict",
        "--no-progress",
        "--no-color",
    ]
    return subprocess.run([*command, *folders], capture_output=True, text=True, cwd=folders[0])


def test_all_manifests_keep_to_the_form_of_those_who_read_them(unpacked: Path) -> None:
    ended = lint(*(unpacked / name for name in (*EXTENSIONS, "registry")))
    assert ended.returncode == 0, ended.stdout
    for kind in (
        "marketplace",
        "codex-plugin",
        "cursor-plugin",
        "agent-plugin",
        "agentskills",
        "mcp-registry",
    ):
        assert kind in ended.stdout


def test_a_manifest_that_does_not_is_found(unpacked: Path, tmp_path: Path) -> None:
    described = json.loads((unpacked / "registry" / "server.json").read_text())
    described["packages"][0]["version"] = "latest"
    (tmp_path / "server.json").write_text(json.dumps(described))
    assert lint(tmp_path).returncode == 1


@needs_npm
def test_the_bundle_is_valid_by_the_tool_of_its_format(unpacked: Path, tmp_path: Path) -> None:
    manifest = unpacked / "bundle" / "manifest.json"
    ended = ran("mcpb", "validate", str(manifest), cwd=tmp_path, seconds=120)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    broken = json.loads(manifest.read_text())
    broken["server"]["type"] = "perl"
    (tmp_path / "manifest.json").write_text(json.dumps(broken))
    ended = ran("mcpb", "validate", str(tmp_path / "manifest.json"), cwd=tmp_path, seconds=120)
    assert ended.returncode != 0


def test_the_list_of_materials_is_valid_and_has_what_is_installed(dist: Path) -> None:
    text = (dist / f"minutebook-{__version__}.cdx.json").read_text()
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    assert error is None, str(error)[:2000]
    components = json.loads(text)["components"]
    models = [each for each in components if each["type"] == "machine-learning-model"]
    assert {(each["name"], each["hashes"][0]["content"]) for each in models} == {
        (each.name, each.sha256) for each in model_files.PUBLISHED
    }
    listed = {(each["name"], each["version"]) for each in components if each not in models}
    lines = (dist / REQUIREMENTS).read_text().splitlines()
    pins = [line.partition(";")[0].rstrip(" \\") for line in lines if not line.startswith(" ")]
    assert listed == {tuple(pin.split("==")) for pin in pins}


def test_the_formula_is_ruby(dist: Path) -> None:
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_ruby.language()))
    formula = (dist / "minutebook.rb").read_bytes()
    assert not parser.parse(formula).root_node.has_error
    assert parser.parse(formula.removesuffix(b"end\n")).root_node.has_error
    assert hashlib.sha256((dist / WHEEL).read_bytes()).hexdigest().encode() in formula
    assert b"$" not in formula


def uv(*arguments: str | Path) -> None:
    ended = subprocess.run([PROGRAMS / "uv", *arguments], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def check_it_remembers(
    command: str | Path, arguments: list[str], home: Path, *promised: str
) -> None:
    """Let the official client start a server, and store and recall by it."""
    variables = os.environ | {
        "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
        "MINUTEBOOK_HOME": str(home),
        "MINUTEBOOK_DAEMON": "off",
    }
    server = StdioServerParameters(
        command=str(command), args=arguments, env=variables, cwd=str(home.parent)
    )

    async def talk() -> None:
        async with Client(server, mode="legacy") as client:
            assert client.server_info is not None
            listed = {each.name for each in (await client.list_tools()).tools}
            assert {"recall", "store_memory", *promised} <= listed
            text = "The kettle of the office is blue."
            stored = await client.call_tool("store_memory", {"content": text})
            assert not stored.is_error, stored.content
            found = await client.call_tool("recall", {"query": "which colour has the kettle"})
            assert text in str(found.content)

    anyio.run(talk)


def test_the_wheel_runs_in_an_environment_with_the_locked_requirements_alone(
    dist: Path, tmp_path: Path
) -> None:
    place = tmp_path / "a place"
    uv("venv", "--python", sys.executable, place)
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = ("pip", "install", "--python", python)
    uv(*pip, "--require-hashes", "--only-binary", ":all:", "-r", dist / REQUIREMENTS)
    uv(*pip, "--no-deps", "--no-index", dist / WHEEL)
    uv("pip", "check", "--python", python)
    program = python.with_name("minutebook")
    said = subprocess.run([program, "--version"], capture_output=True, text=True)
    assert said.stdout == f"minutebook, version {__version__}\n"
    # The words of the extensions: their server is this program.
    arguments = ["serve", "knowledge", "ledger", "--agent", "claude-code"]
    check_it_remembers(program, arguments, tmp_path / "home", "record_decision")


def test_the_bundle_runs_by_the_command_that_it_names(unpacked: Path, tmp_path: Path) -> None:
    folder = unpacked / "bundle"
    start = json.loads((folder / "manifest.json").read_text())["server"]["mcp_config"]
    arguments = [each.replace("${__dirname}", str(folder)) for each in start["args"]]
    check_it_remembers(PROGRAMS / start["command"], arguments, tmp_path / "home")


@pytest.mark.slow
def test_uvx_runs_the_wheel(dist: Path, tmp_path: Path) -> None:
    arguments = ["--from", str(dist / WHEEL), "minutebook", "serve"]
    check_it_remembers(PROGRAMS / "uvx", arguments, tmp_path / "home")
