"""Reasons on pages: of code, of a memory, of a session; commits on *Find*."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pygit2
import pytest

from minutebook.features.code.projects import Projects
from minutebook.features.why import following
from tests.features.citations.repositories import committed
from tests.features.pages.site import OWNER, Site
from tests.store import samples

AT = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
WHY = "Round totals half up <b>\n\nThe tax office rejects banker's rounding."


@pytest.fixture
def shop(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root, asked = tmp_path / "shop", samples.turn("t1", session="monday", organization="default")
    committed(root, {"pay.py": "def total(lines):\n    return half_up(lines)\n"}, int(AT.timestamp()), WHY)  # fmt: skip
    pygit2.Repository(str(root)).config["user.email"] = "ana@example.org"
    wrote = '[Write] {"file_path": "pay.py", "content": "def total(lines):\\n    return half_up(lines)\\n"}'
    turn = replace(asked, prompt="Round pay.py up", thought=wrote, at=AT - timedelta(minutes=5))
    with site.app.infrastructure.store.transaction("default"):
        site.app.infrastructure.store.put(turn)
    site.app.get(Projects).index(OWNER, str(root))
    return root


def test_a_commit_is_a_hit(site: Site, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = site.owner().get("/find?q=totals+round+half+up").text
    assert "Round totals half up &lt;b&gt;" in page
    assert "<code>shop@" in page
    assert "The tax office rejects" in page
    monkeypatch.setattr(following, "LOOK_EVERY", 0.0)
    committed(shop, {"milk.py": "milk = 1\n"}, int(AT.timestamp()) + 60, "Warm the milk first")
    site.app.get(Projects).index(OWNER, str(shop))
    # Nothing is said twice where a message is one line.
    assert site.owner().get("/find?q=warm+the+milk+first").text.count("Warm the milk first") == 1


def test_code_says_why_it_is_so(site: Site, shop: Path) -> None:
    page = site.owner().get("/code/file?project=shop&path=pay.py&line=2").text
    assert page.index('id="reasons"') < page.index("Round totals half up")
    assert "/session?name=monday#t1" in page


def test_a_memory_leads_to_the_reasons_of_what_it_names(site: Site, shop: Path) -> None:
    id = site.remember("pay.py:total counts in cents.").id
    page = site.owner().get(f"/memories/{id}").text
    assert "Round totals half up" in page.partition('id="reasons"')[2]
    plain = site.remember("Nothing of any file.").id
    assert 'id="reasons"' not in site.owner().get(f"/memories/{plain}").text


def test_a_session_lists_its_commits(site: Site, shop: Path) -> None:
    page = site.owner().get("/session?name=monday").text
    assert "Round totals half up" in page.partition('id="commits"')[2]


def test_a_guess_is_told_as_one_and_is_no_reason(site: Site, shop: Path) -> None:
    pygit2.Repository(str(shop)).config["user.email"] = "bo@example.org"
    assert "/session?name=monday#t1" not in site.owner().get("/code/file?project=shop&path=pay.py&line=2").text  # fmt: skip
    page = site.owner().get("/session?name=monday").text
    assert "Perhaps made in it" in page.partition('id="commits"')[2]
