"""The files under deploy/: what they name is there, and they agree with one another."""

import re
import shlex
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from minutebook.config import all_settings
from minutebook.serve.invocation import PREFIX
from tests.test_guides import ROOT, parsed

DEPLOY = ROOT / "deploy"
VARIABLES = {PREFIX + field.name.upper() for field in fields(all_settings())}
OWN = {"MINUTEBOOK_LISTEN"}
"""What the compose file itself reads."""


def text(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def compose() -> Any:
    return yaml.safe_load(text("compose.yaml"))


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Containerfile with what follows each."""
    lines = re.sub(r"^#.*\n", "", text("Containerfile"), flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in lines.splitlines() if line]  # type: ignore[misc]


@pytest.mark.whole
@pytest.mark.parametrize(
    "name", ["Containerfile", "compose.yaml", ".env.example", "minutebook.service"]
)
def test_each_variable_of_ours_is_a_setting(name: str) -> None:
    named = set(re.findall(rf"\b{PREFIX}[A-Z_]+", text(name)))
    assert named
    assert named <= VARIABLES | OWN


def test_each_value_that_differs_from_place_to_place_is_in_the_example() -> None:
    asked = set(re.findall(r"\$\{(\w+)", text("compose.yaml")))
    given = {line.partition("=")[0] for line in text(".env.example").splitlines() if "=" in line}
    assert asked == given


def test_the_parts_of_the_compose_file_fit_together() -> None:
    file = compose()
    services = file["services"]
    for name, service in services.items():
        depends = service.get("depends_on", [])
        assert set(depends) <= set(services), name
        kept = {volume.partition(":")[0] for volume in service.get("volumes", [])}
        assert {each for each in kept if "/" not in each} <= set(file["volumes"]), name
        assert "@" in service["image"] or re.search(r":[\w.-]+$", service["image"]), name
        assert not service["image"].endswith(":latest")
    servers = [name for name in services if name.startswith("server-")]
    # What can be made again is each one's own; decisions in Git stand in one place for all.
    own, shared = zip(*(services[name]["volumes"] for name in servers), strict=True)
    assert len(set(own)) == len(servers)
    assert len(set(shared)) == 1
    addresses = set(re.findall(r"^    server (\S+) \1:8765", text("haproxy.cfg"), re.MULTILINE))
    assert addresses == set(servers)


def test_the_image_is_made_of_files_that_it_is_sent() -> None:
    sent = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    allowed = {line[1:] for line in sent if line.startswith("!")}
    copied = {
        source
        for name, rest in instructions()
        if name == "COPY" and "--from" not in rest
        for source in rest.split()[:-1]
    }
    assert copied == allowed
    assert all((ROOT / name).exists() for name in copied)


@pytest.mark.whole
def test_the_image_starts_the_server() -> None:
    given = dict(instructions())
    assert yaml.safe_load(given["ENTRYPOINT"]) == ["minutebook"]
    assert parsed(yaml.safe_load(given["CMD"])) == "serve"
    assert given["USER"] != "root"
    port = yaml.safe_load(given["CMD"])[2].rpartition(":")[2]
    assert given["EXPOSE"] == port
    assert f"server-1:{port}" in text("haproxy.cfg")


@pytest.mark.whole
def test_the_unit_starts_the_server() -> None:
    (start,) = re.findall(r"^ExecStart=(.+)$", text("minutebook.service"), re.MULTILINE)
    program, *words = shlex.split(start)
    assert Path(program).name == "minutebook"
    assert parsed(words) == "serve"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "minutebook.service"
    # The program stands in the folder of a server and not on the machine of a test.
    unit.write_text(
        text("minutebook.service").replace("/opt/minutebook/bin/minutebook", "/bin/true")
    )
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
