"""`minutebook undo`, and the button on the page Today."""

import re

import pytest

from tests.features.pages.site import AGENT, OWNER, Site
from tests.terminal import Run, remembered


def test_the_last_act_is_shown_asked_about_and_taken_back(run: Run) -> None:
    id = remembered(run, "Tea at five")
    shown = run("show", id, "--json").output
    run("forget", id, "--yes")
    refused = run("undo", input="")
    assert refused.exit_code == 1
    assert "forgot “Tea at five”" in refused.output
    assert "Stopped. Nothing was changed." in refused.output
    assert run("show", id).exit_code == 1
    done = run("undo", "--yes")
    assert done.exit_code == 0
    (number,) = re.findall(r"`minutebook undo (\d+)` does it again", done.output)
    assert run("show", id).exit_code == 0
    assert '"content": "Tea at five"' in shown
    listed = run("undo", "--list").output
    assert "took back: “Tea at five”" in listed
    assert f"it was taken back; `minutebook undo {number}` does it again" in listed
    assert run("undo", number, "--yes").exit_code == 0
    assert run("show", id).exit_code == 1


def test_where_nothing_was_done_it_says_so(run: Run) -> None:
    id = remembered(run, "Tea at five")
    assert run("undo", "--yes").exit_code == 0
    assert run("show", id).exit_code == 1
    ended = run("undo", "--yes")
    assert ended.exit_code == 1
    assert "no act of yours in the last day is left to take back" in ended.output
    assert run("undo", "--list", "--repository", "x").exit_code == 1


def test_a_command_of_several_acts_is_one(run: Run) -> None:
    old = remembered(run, "Tea at five")
    new = run("remember", "Tea at six", "--supersedes", old).output.strip()
    assert run("undo", "--yes").exit_code == 0
    assert run("show", new).exit_code == 1
    assert '"superseded_by": null' in run("show", old, "--json").output


@pytest.mark.needs("pages")
def test_the_page_today_takes_the_last_acts_back(site: Site) -> None:
    memory = site.remember("Tea at five")
    browser = site.owner()
    page = browser.get("/today").text
    (address,) = re.findall(r'action="(/undo/\d+)"', page)
    assert "claude-code kept “Tea at five”" in page
    assert browser.followed(browser.post(address)).status_code == 200
    assert site.app.memories.page(OWNER, 9, 0).total == 0
    assert browser.post(address).status_code == 409
    assert "/undo/" not in browser.get("/today").text
    assert browser.post("/undo/x").status_code == 400
    assert memory.author == AGENT.name


@pytest.mark.needs("pages")
def test_a_person_takes_back_their_own_acts_alone_on_the_page(site: Site) -> None:
    site.remember("Tea at five")
    number = site.app.trail.entries(OWNER)[0].number
    guest = site.bearer()
    assert "/undo/" not in guest.get("/today").text
    assert guest.post(f"/undo/{number}").status_code == 403
    assert site.app.memories.page(OWNER, 9, 0).total == 1
