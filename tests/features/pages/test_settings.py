"""Settings and people on a page: tokens, what each role may, rules, clients."""

import re
from pathlib import Path

import pytest

from minutebook.domain.caller import Caller
from minutebook.domain.errors import Unidentified
from minutebook.domain.records import SYSTEM_ORGANIZATION, MemoryType, Role, Token
from tests.features.pages.site import OWNER, Browser, Site

FORM = {
    "name": "grace",
    "role": "human",
    "organization": "default",
    "repositories": "",
    "user": "",
    "end": "90d",
}


def secret_in(page: str) -> str:
    found = re.search(r"mbk_[0-9a-zA-Z_-]+", page)
    assert found is not None, page
    return found[0]


def made(site: Site, browser: Browser, **changes: str) -> tuple[Token, str]:
    browser.get("/settings")
    answer = browser.post("/settings/tokens", **{**FORM, **changes})
    assert answer.status_code == 200, answer.text
    return site.app.tokens.list(OWNER)[0], secret_in(answer.text)


def test_a_token_is_made_and_its_secret_shown_once(site: Site) -> None:
    browser = site.owner()
    token, secret = made(site, browser, repositories="kettle, teapot", user="grace")
    caller = site.app.tokens.caller_of(secret)
    assert (caller.name, caller.role, caller.organization) == ("grace", Role.HUMAN, "default")
    assert caller.repositories == frozenset({"kettle", "teapot"})
    assert caller.user == "grace"
    assert token.expires_at is not None
    page = browser.get("/settings").text
    assert secret not in page
    assert secret[-20:] not in page
    assert "kettle, teapot" in page
    (entry,) = site.app.trail.entries(OWNER, act="create_token")
    assert (entry.actor, entry.outcome) == (OWNER.name, "done")
    assert entry.origin is not None
    assert entry.origin.program == "browser"


def test_an_empty_organization_holds_a_token_to_none_and_never_ends_never(site: Site) -> None:
    token, _secret = made(site, site.owner(), organization=" ", end="never")
    assert token.bound_organization is None
    assert token.expires_at is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": " "},
        {"name": "agent"},
        {"role": "king"},
        {"end": "x"},
        {"organization": SYSTEM_ORGANIZATION},
    ],
)
def test_what_is_not_fit_is_said_and_what_was_typed_is_kept(
    site: Site, wrong: dict[str, str]
) -> None:
    browser = site.owner()
    browser.get("/settings")
    answer = browser.post("/settings/tokens", **{**FORM, "user": "tea-lover", **wrong})
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text
    assert 'value="tea-lover"' in answer.text
    assert site.app.tokens.list(OWNER) == []


def test_a_revoked_token_lets_nobody_in_and_is_told_as_such(site: Site) -> None:
    browser = site.owner()
    token, secret = made(site, browser)
    page = browser.get(f"/settings/tokens/{token.id}/revoke").text
    assert "Revoke it for good" in page
    done = browser.followed(browser.post(f"/settings/tokens/{token.id}/revoke")).text
    assert "Revoked: it lets nobody in any more." in done
    with pytest.raises(Unidentified):
        site.app.tokens.caller_of(secret)
    again = browser.post(f"/settings/tokens/{token.id}/revoke")
    assert again.status_code == 409
    assert "revoked already" in again.text


def test_another_secret_takes_the_place_of_the_one_there_was(site: Site) -> None:
    browser = site.owner()
    token, before = made(site, browser)
    browser.get(f"/settings/tokens/{token.id}/rotate")
    answer = browser.post(f"/settings/tokens/{token.id}/rotate", end="never")
    after = secret_in(answer.text)
    assert site.app.tokens.caller_of(after).token == token.id
    with pytest.raises(Unidentified):
        site.app.tokens.caller_of(before)
    assert browser.post(f"/settings/tokens/{token.id}/rotate", end="x").status_code == 400


def test_unknown_tokens_and_acts_are_told_so(site: Site) -> None:
    browser = site.owner()
    token, _secret = made(site, browser)
    assert browser.get(f"/settings/tokens/{'0' * 20}/revoke").status_code == 404
    assert browser.post(f"/settings/tokens/{'0' * 20}/revoke").status_code == 404
    assert browser.get(f"/settings/tokens/{token.id}/melt").status_code == 400


@pytest.mark.parametrize("role", list(Role))
def test_whoever_comes_with_a_token_sees_and_changes_none(site: Site, role: Role) -> None:
    browser = site.bearer(role, organization=None)
    (own,) = site.app.tokens.list(OWNER)
    page = browser.get("/settings")
    assert page.status_code == 200
    assert "Make a token" not in page.text
    assert "Last used" not in page.text
    for path, form in (
        ("/settings/tokens", FORM),
        (f"/settings/tokens/{own.id}/revoke", {}),
        (f"/settings/tokens/{own.id}/rotate", {"end": "90d"}),
        (f"/settings/tokens/{'0' * 20}/revoke", {}),
    ):
        refused = browser.post(path, **form)
        assert refused.status_code == 403, path
        assert "tokens are made where the data directory is" in refused.text
        assert "mbk_" not in refused.text
    assert browser.get(f"/settings/tokens/{own.id}/revoke").status_code == 403
    assert site.app.tokens.list(OWNER) == [own]
    entries = site.app.trail.entries(OWNER, outcome="Forbidden")
    assert {each.act for each in entries} == {"create_token", "revoke_token", "rotate_token"}


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
