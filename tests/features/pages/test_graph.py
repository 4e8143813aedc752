"""The graph on a page: drawn and listed alike, grown by links, and only of what the person sees."""

import re
from html import unescape

import pytest

from minutebook.features.pages.views.graph import AS_MARKUP, MOST, MOST_OPENED, SHOWN, STEPS
from minutebook.record.caller import Caller
from minutebook.record.records import Entity, Memory, Role
from tests.features.pages.site import AGENT, OWNER, Site


def entity(site: Site, name: str, caller: Caller = AGENT, user: str | None = None) -> Entity:
    return site.app.entities.create_entity(caller, name, "thing", None, user)


def drawn(page: str) -> set[str]:
    """The names in the drawing, as they are shown on hover."""
    drawing = page[page.index("<svg") : page.index("</svg>")]
    return {unescape(each) for each in re.findall(r"<a [^>]*><title>([^<]*)</title>", drawing)}


def listed(page: str) -> list[tuple[str, str, str]]:
    """What the list says: arrow, type of the edge, name at the other end."""
    steps = page[page.index('<div class="steps">') :]
    found = re.findall(
        r"<li>(→|←) <span class=\"edge\"><bdi>([^<]*)</bdi></span> <[^>]*><bdi>([^<]*)</bdi>", steps
    )
    return [(arrow, type, unescape(name)) for arrow, type, name in found]


@pytest.fixture
def kettle(site: Site) -> Entity:
    """An entity that a memory names, and which leads over the teapot to the cup."""
    kettle, teapot, cup = (entity(site, name) for name in ("Kettle", "Teapot", "Cup"))
    site.app.entities.create_relation(AGENT, kettle.id, teapot.id, "fills", 1.0)
    site.app.entities.create_relation(AGENT, teapot.id, cup.id, "pours into", 1.0)
    site.remember("The Kettle is red")
    return kettle


def test_the_drawing_and_the_list_say_what_is_around_a_thing(site: Site, kettle: Entity) -> None:
    page = site.owner().get(f"/graph?at={kettle.id}").text
    assert drawn(page) == {"Kettle", "Teapot", "The Kettle is red"}
    assert sorted(listed(page)) == [
        ("←", "mentions", "The Kettle is red"),
        ("→", "fills", "Teapot"),
    ]


def test_a_thing_is_opened_and_closed_by_a_link(site: Site, kettle: Entity) -> None:
    browser = site.owner()
    ((teapot,), _total) = site.app.surroundings.entities(OWNER, "teapot", 1, 0)
    first = browser.get(f"/graph?at={kettle.id}").text
    page = browser.followed_link(first, f"/graph?at={kettle.id}&amp;open={teapot.id}")
    assert drawn(page) == {"Kettle", "Teapot", "The Kettle is red", "Cup"}
    assert ("→", "pours into", "Cup") in listed(page)
    closed = browser.followed_link(page, f"/graph?at={kettle.id}")
    assert drawn(closed) == drawn(first)


def test_script_gets_the_part_that_changes(site: Site, kettle: Entity) -> None:
    page = site.owner().get(f"/graph?at={kettle.id}", hx_request="true").text
    assert page.startswith('<div id="graph">')
    assert "<html" not in page


def test_a_memory_leads_to_what_it_names_and_to_its_page(site: Site, kettle: Entity) -> None:
    memory, other = site.remember("Kettle one"), site.remember("Two")
    site.app.links.link(AGENT, memory.id, other.id, "refines")
    browser = site.owner()
    assert f'href="/graph?at={memory.id}"' in browser.get(f"/memories/{memory.id}").text
    page = browser.get(f"/graph?at={memory.id}").text
    assert drawn(page) == {"Kettle one", "Two", "Kettle"}
    assert f'href="/memories/{other.id}"' in page


def test_what_has_ended_is_told_so_and_what_was_removed_is_not_there(
    site: Site, kettle: Entity
) -> None:
    ended, removed = site.remember("Kettle was blue"), site.remember("Kettle was green")
    site.app.memories.invalidate(OWNER, ended.id, "painted", None)
    site.app.memories.delete(OWNER, removed.id)
    page = site.owner().get(f"/graph?at={kettle.id}").text
    assert "Kettle was green" not in page
    assert re.search(r'class="memory ended"><title>Kettle was blue', page)


def test_what_one_may_not_see_leaves_no_trace(site: Site, kettle: Entity) -> None:
    secret = entity(site, "Samovar", user="mallory")
    site.app.entities.create_relation(AGENT, kettle.id, secret.id, "hides", 9.0)
    alone = entity(site, "Spoon", Caller(name="x", role=Role.HUMAN, organization="other"))
    browser = site.bearer(user="grace")
    page = browser.get(f"/graph?at={kettle.id}&show=2").text
    assert "Samovar" not in page
    assert "hides" not in page
    assert "3 things, 2 connections" in page
    assert "Show more" not in page
    assert "Samovar" not in browser.get("/graph").text
    assert "Spoon" not in browser.get("/graph?name=s").text
    for hidden in (secret.id, alone.id, "0" * 20, "../x", "<b>"):
        answer = browser.get(f"/graph?at={hidden}")
        assert answer.status_code == 404
    opened = browser.get(f"/graph?at={kettle.id}&open={secret.id},{alone.id},nonsense")
    assert drawn(opened.text) == drawn(page)
    assert "Samovar" in site.owner().get(f"/graph?at={kettle.id}").text


def test_the_heaviest_come_first_and_more_when_asked_for(site: Site) -> None:
    hub = entity(site, "Hub")
    for number in range(SHOWN + 5):
        end = entity(site, f"Spoke {number}")
        site.app.entities.create_relation(AGENT, hub.id, end.id, "turns", number + 1.0)
    browser = site.owner()
    page = browser.get(f"/graph?at={hub.id}").text
    assert len(drawn(page)) == SHOWN + 1
    assert f"Spoke {SHOWN + 4}" in page
    assert ">Spoke 1<" not in page
    more = browser.followed_link(page, f"/graph?at={hub.id}&amp;show=")
    assert len(drawn(more)) == SHOWN + 6
    assert "Show more" not in more


@pytest.mark.thorough
def test_many_things_are_drawn_by_script_and_listed_in_pages(site: Site) -> None:
    hub, many = entity(site, "Hub"), AS_MARKUP + 5
    for number in range(many):
        end = entity(site, f"Spoke {number}")
        site.app.entities.create_relation(AGENT, hub.id, end.id, "turns", number + 1.0)
    site.remember("Hub \u202e stands still", title="Hub \u202e")
    browser = site.owner()
    page = browser.get(f"/graph?at={hub.id}&show=1000").text
    assert "<svg" not in page
    assert f"{many + 2} things, {many + 1} connections" in page
    assert len(listed(page)) == STEPS
    assert f"1–{STEPS} of {many + 1}" in page
    further = browser.followed_link(page, f"/graph?at={hub.id}&amp;show=1000&amp;of=")
    assert not {*listed(page)} & {*listed(further)}
    found = re.search(r'data-drawing="([^"]*)"', page)
    assert found is not None
    told = browser.get(unescape(found[1])).json()
    assert len(told["things"]) == many + 2
    assert len(told["lines"]) == many + 1
    assert all(
        told["things"][source][0] == hub.id
        for source, _, kind in told["lines"]
        if kind == "relation"
    )
    assert told["things"][0][:2] == [hub.id, "Hub"]
    (memory,) = (each for each in told["things"] if each[-1].startswith("m"))
    assert "\u202e" not in memory[1]


def test_the_list_of_entities_is_by_name_with_pages(site: Site) -> None:
    for number in range(60):
        entity(site, f"Thing {number:02}")
    entity(site, "Other")
    browser = site.owner()
    page = browser.get("/graph").text
    assert "of 61" in page
    assert "Thing 59" in browser.followed_link(page, "/graph?from=")
    found = browser.get("/graph?name=oth").text
    assert ">Other<" in found
    assert "Thing" not in found
    assert "Nothing is called that." in browser.get("/graph?name=zebra").text


TOO_MANY = ",".join(map(str, range(MOST_OPENED + 1)))


@pytest.mark.parametrize(
    "wrong",
    ["show=0", "show=x", f"show={MOST + 1}", "show=" + "9" * 30, f"open={TOO_MANY}", "from=x"],
)
def test_addresses_that_cannot_be_read_are_refused(site: Site, kettle: Entity, wrong: str) -> None:
    assert site.owner().get(f"/graph?at={kettle.id}&{wrong}").status_code == 400


def test_a_thing_that_is_joined_with_itself_is_shown(site: Site, kettle: Entity) -> None:
    site.app.entities.create_relation(AGENT, kettle.id, kettle.id, "heats", 1.0)
    assert site.owner().get(f"/graph?at={kettle.id}").status_code == 200


def test_a_memory_without_words_has_a_name(site: Site) -> None:
    memory: Memory = site.remember(".")
    assert site.owner().get(f"/graph?at={memory.id}").status_code == 200
