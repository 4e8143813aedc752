"""Settings and people on a page: tokens, what each role may, rules, clients."""

import re
from pathlib import Path

import pytest

from minutebook.record.caller import Caller
from minutebook.record.records import MemoryType, Role
from tests.features.pages.site import OWNER, Site


def test_roles_are_told_with_what_the_policy_permits(site: Site) -> None:
    page = site.owner().get("/settings").text
    rows = {
        found[0]: re.findall(r"<td[^>]*>(yes|–)</td>", found[1])
        for found in re.findall(r'<th scope="row">([^<]+)</th>(.*)</tr>', page)
    }
    assert rows["Write memories and change them"] == ["–", *["yes"] * 5]
    assert rows["Write rules, where a team shares the store"] == ["–", "–", *["yes"] * 4]
    assert rows["Verify"] == ["–", "–", *["yes"] * 4]
    assert rows["Lock and unlock"] == ["–", "–", "–", *["yes"] * 3]
    assert rows["Accept and decline proposals"] == [*["–"] * 5, "yes"]


def test_rules_are_those_that_the_person_sees(site: Site) -> None:
    site.remember("Tea is served hot", OWNER, type=MemoryType.BUSINESS_RULE)
    elsewhere = Caller(name="x", role=Role.HUMAN, organization="other")
    site.remember("Coffee is served cold", elsewhere, type=MemoryType.BUSINESS_RULE)
    page = site.bearer().get("/settings").text
    assert "Tea is served hot" in page
    assert "Coffee" not in page


@pytest.mark.needs("install")
def test_clients_of_the_machine_are_for_its_owner(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".cursor").mkdir(parents=True)
    servers = '{"mcpServers": {"memory": {"command": "/opt/minutebook", "args": ["serve"]}}}'
    (home / ".cursor" / "mcp.json").write_text(servers)
    (home / ".claude.json").write_text("{broken")
    monkeypatch.setenv("HOME", str(home))
    site.sign_ins.folder = home
    page = site.owner().get("/settings").text
    assert "<bdi>memory</bdi>" in page
    assert "cannot be read" in page
    assert "<code>minutebook install codex</code>" in page
    held = site.bearer(Role.ADMIN).get("/settings").text
    assert str(home) not in held
    assert "<code>minutebook install cursor</code>" in held
