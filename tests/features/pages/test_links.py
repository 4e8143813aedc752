"""Every page of a store with records of every kind is there, and so is every page that it leads to."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from starlette.routing import compile_path

from minutebook.app import App
from minutebook.features.code.projects import Projects
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.pages.frame.records import address_of, name_of
from minutebook.features.pages.frame.register import views
from minutebook.features.tidying.looking.rounds import Rounds
from minutebook.record.caller import without_folder_scope
from minutebook.record.records import CLASSES, TEXT_CLASSES, Kind, MemoryType, Record, Relation
from tests.features.citations.repositories import committed
from tests.features.ledger.decided import draft
from tests.features.pages.site import AGENT, OWNER, Browser, Site, site_on
from tests.store import samples

OTHERS = [
    ("GET", "/enter"),
    ("GET", "/signin"),
    ("POST", "/signin"),
    ("POST", "/signout"),
    ("GET", "/static/{name:path}"),
]
"""What the frame serves besides views."""

ASKED = (
    "/find?q=rounding",
    "/find?q=rounding&in=sessions",
    "/find?q=rounding&in=decisions",
    "/code?q=total",
)
"""Pages to which a form leads, and no link."""

MOST_OF_A_PAGE = 4
"""Addresses that are followed of one view without a query, so that a walk ends."""


def addresses(page: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the method and address of each link and form, and whether it is a link."""
    for tag, words in re.findall(r"<(a|form)\b([^>]*)>", page):
        if found := re.search(r'\b(?:href|action)="(/[^"#]*)', words):
            is_post = tag == "form" and 'method="post"' in words
            yield "POST" if is_post else "GET", unescape(found[1]), tag == "a"


def fill(site: Site, folder: Path) -> None:
    """Keep records of every kind, have questions get one of each, and let something wait."""
    app = site.app
    rounding = site.remember("Rounding is half up in `pay.py`.", title="Rounding")
    site.remember("Rounding is half down.", OWNER)
    app.memories.invalidate(OWNER, site.remember("Rounding is away from zero.").id, "", rounding.id)
    app.memories.update(AGENT, rounding.id, {"content": "Rounding is half up, as tax law asks."})
    site.remember("Rounding needs two reviews.", type=MemoryType.BUSINESS_RULE)
    names = ("Rounding", "Tax office")
    one, other = (app.entities.create_entity(AGENT, each, "thing", None, None) for each in names)
    app.entities.create_relation(AGENT, one.id, other.id, "asked_by", 1.0)
    app.links.link(AGENT, rounding.id, site.remember("The tax office asks for rounding.").id, "why")
    app.get(DecisionActs).record(AGENT, draft("rounding", "Rounding is half up"))
    app.get(Proposals).propose(AGENT, draft("tax", "Rounding by the tax office"))
    app.sessions.add(AGENT, "s1", "How is rounding done?", "[Read] pay.py\n\n→ total", "Half up.")
    app.summaries.summarize(AGENT, "s1")
    committed(
        folder, {"pay.py": "def total(x):\n    return x\n"}, 1_700_000_000, "Rounding\n\nWhy."
    )
    app.get(Projects).index(OWNER, str(folder))
    app.get(Rounds).run(OWNER)
    for query, each in [(query, each) for query in ("how", "") for each in of_every_kind(app)]:
        app.note_answer(AGENT, "recall", query, [(each, 0.5)])


def of_every_kind(app: App) -> list[Record]:
    """Return one record of each kind that an answer may hold."""
    seen = app.infrastructure.records.seen_by(without_folder_scope(OWNER))
    found: list[Record] = []
    for kind, of in {**TEXT_CLASSES, Kind.RELATION: Relation}.items():
        records: list[Record] = list(seen.find(of))
        assert records, kind
        found += records[:1]
    return found


def follow_links(browser: Browser) -> set[str]:
    """Follow every link from the pages that need no name; return the addresses that were seen."""
    served = OTHERS + [each for of in views() for each in of]
    patterns = [(each, compile_path(each[1])[0]) for each in served]
    waiting = [path for method, path in served if method == "GET" and "{" not in path]
    # These are asked with a name or a query, by links alone.
    needs_query = {
        "/session",
        "/code/file",
        "/graph/drawing",
        "/static",
        "/enter",
        "/activity/live",
    }
    waiting = [*(each for each in waiting if each not in needs_query), *ASKED]
    seen, followed = set(waiting), dict[str, int]()
    while waiting:
        here = waiting.pop()
        answer = browser.get(here)
        answer = browser.get(answer.headers["location"]) if answer.status_code == 303 else answer
        assert answer.status_code == 200, f"{here}: {answer.text[-1500:]}"
        for method, address, is_link in addresses(answer.text):
            path = address.partition("?")[0]
            fitting = [each for each, pattern in patterns if pattern.fullmatch(path)]
            assert method in dict(fitting), f"{here} leads to {method} {path}"
            view = dict(fitting)[method]
            kind = view + "".join(sorted(re.findall(r"[?&](\w+)=", address)))
            if is_link and address not in seen and followed.get(kind, 0) < MOST_OF_A_PAGE:
                followed[kind] = followed.get(kind, 0) + 1
                seen.add(address)
                waiting.append(address)
    return seen


@pytest.mark.needs("citations", "code", "ledger", "recall_log", "tidying", "why")
@pytest.mark.parametrize("log", ["questions", "records"])
def test_every_page_is_there_with_records_of_every_kind(tmp_path: Path, log: str) -> None:
    with site_on(tmp_path / "site", recall_log=log) as site:
        fill(site, tmp_path / "shop")
        seen = follow_links(site.owner())
        today = site.owner().get("/today").text
    assert "Rounding —asked_by→ Tax office" in today
    for start in ("/memories/", "/decisions/", "/session?name=s1", "/graph?at=", "/code/file?"):
        assert any(each.startswith(start) for each in seen), start


def test_every_page_is_there_in_an_empty_store(site: Site) -> None:
    follow_links(site.owner())


def test_a_record_of_each_kind_has_words() -> None:
    makers = (
        *(samples.memory, samples.version, samples.entity, samples.project, samples.file),
        *(samples.commit, samples.chunk, samples.decision, samples.proposal, samples.mark),
        *(samples.token, samples.turn, samples.summary, samples.entry, samples.head),
    )
    made = [make() for make in makers]
    edges = {each for each in CLASSES if each in ("relation", "link", "mention")}
    assert {each.kind for each in made} | edges == set(CLASSES)
    for record in made:
        assert name_of(record)
        assert address_of(record) == "" or address_of(record).startswith("/")
    assert name_of(replace(samples.memory(), content="a\n b" * 200)).endswith("…")
