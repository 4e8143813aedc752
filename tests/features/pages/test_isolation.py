"""Every page, asked by callers of another organization, repository or user: nothing of it shows."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from minutebook.features.code.projects import Projects
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.pages.frame.register import views
from minutebook.record.caller import Call, Caller
from minutebook.record.origin import Origin
from minutebook.record.records import MemoryType, Role, Status
from minutebook.record.writing.decision_drafts import DecisionDraft
from minutebook.record.writing.drafts import Draft
from tests.examples import parametrize_in_part
from tests.features.pages.site import Browser, Site, site_on

HIDDEN: dict[str, dict[str, Any]] = {
    "zoo": {"organization": "zoo"},
    "billing": {"repositories": frozenset({"billing"})},
    "ben": {"user": "ben"},
}
"""Whose records are hidden from some; every text of theirs holds the word `hush` and this name."""

ASKERS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "of the organization": ({}, ("zoo",)),
    "of a repository": ({"repositories": ("garden",)}, ("zoo", "billing")),
    "of a user": ({"user": "ana"}, ("zoo", "ben")),
    "of another organization": ({"organization": "sea"}, ("zoo", "billing", "ben")),
}
"""Who asks, and whose records they must not hear of."""

QUERIES: dict[str, tuple[dict[str, str], ...]] = {
    "/find": ({"q": "hush"}, {"q": "hush", "in": "sessions"}, {"q": "hush", "in": "decisions"}),
    "/review": ({"of": "active"}, {"of": "duplicate"}, {"of": "proposal"}, {"of": "clash"}),
    "/code": ({"q": "hush"}, *({"project": f"hush{name}", "q": "x"} for name in HIDDEN)),
    "/code/file": tuple({"project": f"hush{n}", "path": f"hush{n}.py"} for n in HIDDEN),
    "/session": tuple({"name": f"hush{name}", "q": q} for name in HIDDEN for q in ("", "hush")),
}
"""What pages are asked beside their plain address."""

COUNTING = (
    "/today",
    "/find",
    "/health",
    "/code",
    "/review",
    "/decisions",
)
"""Pages that count, and on which another's records must change no character."""


@dataclass(frozen=True)
class Walk:
    """A site with hidden records, their ids by whose they are, and its pages before there were any."""

    site: Site
    ids: dict[str, list[str]]
    before: dict[str, dict[str, str]]
    tokens: dict[str, str]

    def asker(self, name: str) -> Browser:
        browser = self.site.browser()
        browser.get("/signin")
        browser.followed(browser.post("/signin", token=self.tokens[name]))
        return browser


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    with site_on(tmp_path_factory.mktemp("walk") / "site") as site:
        site.remember("Tea at five")
        tokens = {name: site.token(Role.ADMIN, **grant) for name, (grant, _) in ASKERS.items()}
        one = Walk(site, {}, {}, tokens)
        for name in ASKERS:
            browser = one.asker(name)
            one.before.update({name: {path: plain(browser.get(path).text) for path in COUNTING}})
        folder = tmp_path_factory.mktemp("code")
        one.ids.update({name: hide(site, name, folder) for name in HIDDEN})
        yield one


def hide(site: Site, name: str, folder: Path) -> list[str]:
    """Keep records of every kind that pages show.

    Return the ids of a memory that holds, of one that was removed, of a decision and of a proposal.
    """
    app, word = site.app, f"hush{name}"
    origin = Origin(client=word, session=word)
    told = {"organization": "default", **HIDDEN[name]}
    caller = Caller(name=word, role=Role.ADMIN, call=Call(session=word, origin=origin), **told)

    def remember(text: str, **said: Any) -> str:
        draft = Draft(content=f"hush {word} {text}", type=MemoryType.FACT, title=word, **said)
        return app.memories.store(caller, draft).id

    app.entities.create_entity(caller, word, "hush", word, None)
    held, old, stale = remember("holds"), remember("held"), remember("is stale")
    unverified = remember("is unverified", initial=Status.UNVERIFIED)
    app.memories.update(caller, held, {"content": f"hush {word} holds still"})
    app.memories.invalidate(caller, old, word, held)
    app.status.deprecate(caller, stale, word)
    app.links.link(caller, held, unverified, word)
    app.memories.remove(caller, removed := remember("is removed"))
    app.memories.delete(caller, remember("is gone"))
    draft = DecisionDraft(word, word, f"Because hush {word} is so, and has long been so.")
    decision, proposal = (
        app.get(DecisionActs).record(caller, draft),
        app.get(Proposals).propose(caller, draft),
    )
    app.sessions.add(caller, word, f"hush {word}?", word, word)
    app.summaries.summarize(caller, word)
    (folder / word).mkdir()
    (folder / word / f"{word}.py").write_text(f"def {word}():  # hush\n    pass\n")
    app.get(Projects).index(caller, str(folder / word))
    return [held, removed, decision.id, proposal.id]


def addresses(ids: list[str]) -> list[str]:
    """Every page: those of a record for each of these."""
    found = []
    for its_views in views():
        for method, path in its_views:
            if method != "GET":
                continue
            of_ids = [path.replace("{id}", id) for id in ids] if "{id}" in path else [path]
            found += [each.replace("{act}", "edit") for each in of_ids]
            found += [f"{path}?{urlencode(query)}" for query in QUERIES.get(path, ())]
    return found


def plain(page: str) -> str:
    """A page without what differs each time: the key of its forms."""
    return re.sub(r'name="csrf" value="[^"]+"', "", page)


@parametrize_in_part("asker", ASKERS, every=2)
def test_no_page_shows_what_is_anothers(walk: Walk, asker: str) -> None:
    hidden = ASKERS[asker][1]
    browser = walk.asker(asker)
    for path in addresses([id for name in hidden for id in walk.ids[name]]):
        answer = browser.get(path)
        assert answer.status_code < 500, path
        told = answer.text.replace(path, "")
        for name in hidden:
            # What was asked for stands in the field: the question and the session's name.
            shown = re.sub(rf'(value="|name=|There is no (?:session|project) )hush{name}', "", told)
            assert f"hush{name}" not in shown, (path, name)


@pytest.mark.parametrize("asker", ["of a repository", "of a user", "of another organization"])
def test_no_count_changes_by_what_is_anothers(walk: Walk, asker: str) -> None:
    browser = walk.asker(asker)
    hidden = ASKERS[asker][1]
    seen = [name for name in HIDDEN if name not in hidden]
    for path in COUNTING if not seen else ():
        assert plain(browser.get(path).text) == walk.before[asker][path], path
    for name in seen:
        # What they may see does show: the walk would find it.
        assert f"hush{name}" in browser.get("/find?q=hush").text


@parametrize_in_part("asker", reversed(ASKERS), every=2)
def test_no_act_of_a_page_reaches_what_is_anothers(walk: Walk, asker: str) -> None:
    browser = walk.asker(asker)
    browser.get("/find")
    for name in ASKERS[asker][1]:
        for id in walk.ids[name][::3]:
            told = {"reason": "x", "text": "x", "title": "x", "sure": "yes", "version": "1"}
            for act in ("verify", "invalidate", "reinstate", "edit", "forget"):
                posted = browser.post(f"/memories/{id}/{act}", **told)
                assert posted.status_code == 404, (id, act)
            for form in (
                {"act": "apply", "pick0": id},
                {"act": "refuse", "pick0": id},
            ):
                answer = browser.post("/review", **form)
                assert answer.status_code == 404, (id, form)
                assert f"hush{name}" not in answer.text
            for number in range(1, 12):
                for home in ("default", "zoo"):
                    told = {"u0": f"verify {number} {number} {home}"}
                    undone = browser.post("/review/undo", **told)
                    assert undone.status_code in (303, 403, 404, 409), (number, home)
                    assert f"hush{name}" not in undone.text
