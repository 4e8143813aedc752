"""Code on a page: projects, a search with coloured source, the lines around a hit."""

import re
from collections.abc import Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from minutebook.features.code.projects import Projects
from minutebook.record.caller import Caller
from minutebook.record.records import IndexState, Project, Role
from tests.features.pages.site import OWNER, Site
from tests.features.pages.test_hostile_text import HOSTILE, check_inert
from tests.features.pages.test_live import Stream

KETTLE = '''"""Boil water."""

LITRES = 2


class Kettle:
    def boil(self, degrees: int) -> str:
        # Not beyond the boiling point.
        return "boiling" if degrees > 99 else None
'''
TEAPOT = "export function pour(cups) {\n  return cups * 2; // cups of tea\n}\n"


def indexed(site: Site, folder: Path, files: Mapping[str, str], caller: Caller = OWNER) -> Project:
    """Write files to a folder and index it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return site.app.get(Projects).index(caller, str(folder)).progress.project


@pytest.fixture
def kettle(site: Site, tmp_path: Path) -> Project:
    files = {"src/kettle.py": KETTLE, "web/teapot.js": TEAPOT}
    return indexed(site, tmp_path / "kettle", files)


def text_of(markup: str) -> str:
    """What a reader sees of some markup."""
    return unescape(re.sub(r"<[^>]*>", "", markup))


def test_without_a_project_the_page_says_how_to_index_one(site: Site) -> None:
    page = site.owner().get("/code").text
    assert "<code>minutebook index .</code>" in page
    assert (
        "<code>minutebook index .</code>" in site.owner().get("/code?q=x", hx_request="true").text
    )


def test_projects_are_listed_with_folder_languages_and_how_far_they_are(
    site: Site, kettle: Project
) -> None:
    page = site.owner().get("/code").text
    for told in ("kettle", kettle.path, "python", "javascript", "2 of 2 files"):
        assert told in page
    assert "up to date" in page


def test_an_index_that_failed_says_why_and_what_helps(site: Site, kettle: Project) -> None:
    store = site.app.infrastructure.store
    store.put(replace(kettle, state=IndexState.FAILED, reason="the disk is full"))
    page = site.owner().get("/code").text
    assert "the disk is full" in page
    assert f"<code>minutebook index {kettle.path}</code>" in page


def test_a_hit_says_what_and_where_it_is_and_why_it_was_found(site: Site, kettle: Project) -> None:
    page = site.owner().get("/code?q=boil degrees").text
    assert "src/kettle.py:7–9" in page
    assert '<span class="keyword">def</span>' in page
    assert '<span class="comment">' in page
    assert '<span class="defined"><mark>boil</mark></span>' not in page
    assert '<mark><span class="defined">boil</span></mark>' in page
    assert "What each signal says" in page
    assert re.search(">(un)?likely<|>possible<", page)
    assert ">likely<" in site.owner().get("/code?q=Kettle.boil").text


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ("project=kettle", True),
        ("language=python", True),
        ("language=javascript", False),
        ("path=src/", True),
        ("path=web/", False),
    ],
)
def test_filters_choose_among_pieces_and_stand_in_the_address(
    site: Site, kettle: Project, filters: str, found: bool
) -> None:
    page = site.owner().get(f"/code?q=degrees&{filters}").text
    assert ("src/kettle.py" in page) == found
    assert ("Nothing found." in page) != found


def test_a_project_or_language_that_is_not_there_is_said_to_be_so(
    site: Site, kettle: Project
) -> None:
    browser = site.owner()
    assert browser.get("/code?q=x&project=teapot").status_code == 404
    assert browser.get("/code?q=x&language=klingon").status_code == 400
    assert browser.get("/code/file?project=kettle&path=src/kettle.py&line=x").status_code == 400
    for gone in (
        "project=teapot&path=x",
        "project=kettle&path=x",
        "project=kettle&path=src/kettle.py&line=99",
    ):
        assert browser.get(f"/code/file?{gone}").status_code == 404


def test_a_hit_leads_to_the_lines_around_it(site: Site, kettle: Project) -> None:
    browser = site.owner()
    page = browser.followed_link(browser.get("/code?q=boil").text, "/code/file")
    shown = page.partition('<pre class="source"')[2].partition(">")[2].partition("</pre>")[0]
    numbered = "".join(f"{at}{line}\n" for at, line in enumerate(KETTLE.splitlines(), 1))
    assert text_of(shown) == numbered
    assert 'class="line here" id="L7"' in page
    assert 'class="line" id="L1"' in page


def test_a_long_file_is_read_on_line_by_line_of_it(site: Site, tmp_path: Path) -> None:
    long = "".join(f"def f{at}():\n    return {at}\n\n\n" for at in range(300))
    indexed(site, tmp_path / "long", {"long.py": long})
    browser, seen, address = site.owner(), [], "/code/file?project=long&path=long.py&line=1"
    while address:
        page = browser.get(address).text
        seen += [int(each) for each in re.findall(r' id="L(\d+)"', page)]
        onward = re.search(r'rel="next" href="([^"#]*)', page)
        address = unescape(onward[1]) if onward else ""
    assert set(seen) == set(range(1, len(long.splitlines()) + 1))


def test_code_that_find_shows_leads_to_its_lines(site: Site, kettle: Project) -> None:
    browser = site.owner()
    page = browser.get("/find?q=boil").text
    assert "In code" in page
    assert "Boil water" in browser.followed_link(page, "/code/file")


def test_stored_source_does_nothing_but_show(site: Site, tmp_path: Path) -> None:
    text = "".join(f"# stone {each.encode('unicode_escape').decode()}\n" for each in HOSTILE)
    raw = "stone = '''" + "\n".join(each.replace("\x00", "") for each in HOSTILE) + "'''\n"
    indexed(site, tmp_path / "<b>hostile", {"a.py": text, "b.js": raw, "c.html": raw})
    browser = site.owner()
    for path in (
        "/code",
        "/code?q=stone",
        "/find?q=stone",
        "/code/file?project=%3Cb%3Ehostile&path=b.js",
    ):
        page = browser.get(path).text
        assert "hostile" in page
        check_inert(page)


def test_projects_of_others_do_not_show(site: Site, kettle: Project, tmp_path: Path) -> None:
    other = Caller(name="x", role=Role.ADMIN, organization="zoo")
    project = indexed(site, tmp_path / "hush", {"hush.py": "def hush(): pass\n"}, other)
    browser = site.bearer(organization="default")
    for path in ("/code", "/code?q=hush", "/find?q=hush", "/code?q=kettle"):
        answer = browser.get(path)
        assert project.path not in answer.text
        assert "hush.py" not in answer.text
    assert browser.get("/code/file?project=hush&path=hush.py").status_code == 404
    assert browser.get("/code?q=x&project=hush").status_code == 404


def test_how_far_an_index_is_comes_by_itself(site: Site, kettle: Project) -> None:
    browser = site.owner()
    page = browser.get("/code").text
    state = re.search(r'data-state="(\w+)"', page)
    assert state is not None
    stream = Stream(browser, f"/code/live?state={state[1]}")
    try:
        store = site.app.infrastructure.store
        store.put(replace(kettle, state=IndexState.FAILED, reason="the disk is full"))
        assert "the disk is full" in stream.next()
        store.put(kettle)
        event = stream.next()
        assert f"id: {state[1]}" in event
        assert "up to date" in event
    finally:
        stream.leave()
