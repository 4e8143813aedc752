"""Why: an answer as a caller gets it, and what was left out."""

from dataclasses import replace

import pytest

from minutebook.domain.records import Role
from tests.features.pages.site import AGENT, OWNER, Site


def test_an_answer_shows_every_share_and_what_was_left_out(site: Site) -> None:
    kept = site.remember("Kettle boils at noon")
    ended = site.remember("Kettle boils at dawn")
    site.app.memories.invalidate(OWNER, ended.id, "It <broke>", kept.id)
    browser = site.owner()
    assert browser.get("/why").status_code == 200
    page = browser.followed_link(browser.get("/find?q=when+does+kettle+boil").text, "/why?")
    answer, rest = page.split('id="left-out"')
    assert "Kettle boils at noon" in answer
    assert "What each signal says" in answer
    assert "Kettle boils at dawn" in rest
    assert ">replaced<" in rest
    assert "It &lt;broke&gt;" in rest


def test_an_admin_looks_with_anothers_eyes(site: Site) -> None:
    site.remember("Kettle of the billing", replace(AGENT, user="ana"))
    site.remember("Kettle of everybody")
    browser = site.bearer(Role.ADMIN)
    answer, rest = browser.get("/why?q=kettle&as=agent&user=ben").text.split('id="left-out"')
    assert "Kettle of everybody" in answer
    assert "Kettle of the billing" not in answer
    assert "Kettle of the billing" in rest
    assert ">of another project or person<" in rest
    assert (
        "Kettle of the billing" in browser.get("/why?q=kettle&user=ana").text.split("left-out")[0]
    )


def test_others_look_with_their_own_eyes_alone(site: Site) -> None:
    site.remember("Kettle of ana", replace(AGENT, user="ana"))
    browser = site.bearer(Role.HUMAN, user="ben")
    page = browser.get("/why?q=kettle")
    assert page.status_code == 200
    assert "of ana" not in page.text
    for query in ("as=agent", "user=ana", "repository=x", "as=viewer&user=ana"):
        answer = browser.get(f"/why?q=kettle&{query}")
        assert answer.status_code == 403
        assert "an admin" in answer.text
        assert "of ana" not in answer.text
    assert {e.outcome for e in site.app.trail.entries(OWNER, act="look as")} == {"Forbidden"}


@pytest.mark.parametrize("query", ["as=king", "organization=~system", "organization=x"])
def test_what_is_no_caller_is_refused_in_words(site: Site, query: str) -> None:
    assert site.bearer(Role.ADMIN).get(f"/why?q=x&{query}").status_code in (400, 403)
