"""A memory's page, and what may be done there: by the same rules and on the same trail as an agent's."""

import re
from pathlib import Path

import pytest

from minutebook.record.errors import NotFound
from minutebook.record.policy import Redact
from minutebook.record.records import Memory, MemoryType, Role, Status
from tests.features.pages.site import AGENT, OWNER, Browser, Site, site_on


def act(browser: Browser, memory: Memory, name: str, **fields: str) -> str:
    """Do an act as a person does: open its form, fill it in, send it, look at what comes."""
    form = browser.get(f"/memories/{memory.id}/{name}")
    assert form.status_code == 200
    fields.setdefault("version", str(memory.version))
    return browser.followed(browser.post(f"/memories/{memory.id}/{name}", **fields)).text


def test_a_page_shows_text_origin_versions_links_and_trail(site: Site) -> None:
    site.app.entities.create_entity(AGENT, "Kettle", "project", None, None)
    memory = site.remember("**Kettle** boils at noon", title="When")
    other = site.remember("Kettle is red")
    site.app.links.link(AGENT, memory.id, other.id)
    site.app.memories.update(OWNER, memory.id, {"content": "**Kettle** boils at five"})
    page = site.owner().get(f"/memories/{memory.id}").text
    assert "<strong>Kettle</strong> boils at five" in page
    assert "Kettle</bdi> <small>project" in page
    assert "claude-code 2" in page
    assert "<del>noon</del>" in page
    assert "<ins>five</ins>" in page
    assert "Kettle is red" in page
    assert "and still" in page
    for done in ("created", "link", "edit"):
        assert f"<b>{done}</b>" in page


def test_editing_makes_a_version_under_the_persons_name(site: Site) -> None:
    memory = site.remember("Tea at four", title="Tea")
    page = act(site.owner(), memory, "edit", text="Tea at five\r\nand cake\r\n", title="Tea")
    assert "Saved as a new version." in page
    after = site.app.memories.read(OWNER, memory.id)
    assert after.content == "Tea at five\nand cake"
    assert after.version == 2
    (version,) = (v for v in site.app.memories.history(OWNER, after).versions if v.number == 2)
    assert version.changed_by == "ada"
    (entry,) = site.app.trail.entries(OWNER, subject=memory.id, act="update")
    assert entry.actor == "ada"
    assert entry.origin is not None
    assert (entry.origin.client, entry.origin.contract) == ("browser", "web")
    assert entry.request


def test_an_edit_that_changes_nothing_makes_no_version(site: Site) -> None:
    memory = site.remember("Tea \x1b[31m at\r\nfive \u202e", title=None)
    browser = site.owner()
    form = browser.get(f"/memories/{memory.id}/edit").text
    shown = form.split('dir="auto">\n')[-1].split("</textarea>")[0]
    assert "\\x1b[31m" in shown
    text = shown.replace("\n", "\r\n")
    assert "Nothing was changed" in act(browser, memory, "edit", text=text, title="")
    assert site.app.memories.read(OWNER, memory.id) == memory


def test_an_edit_of_what_was_changed_meanwhile_keeps_what_was_typed(site: Site) -> None:
    memory = site.remember("Tea at four")
    browser = site.owner()
    browser.get(f"/memories/{memory.id}/edit")
    site.app.memories.update(AGENT, memory.id, {"content": "Tea at three"})
    path = f"/memories/{memory.id}/edit"
    answer = browser.post(path, text="Tea at <five>", title="", version="1")
    assert answer.status_code == 409
    assert "changed meanwhile" in answer.text
    assert "Tea at &lt;five&gt;" in answer.text
    assert site.app.memories.read(OWNER, memory.id).content == "Tea at three"


def test_each_act_does_what_its_button_says(site: Site) -> None:
    browser = site.bearer(Role.MANAGER)
    memory = site.remember("Tea at five")

    def now() -> Memory:
        return site.app.memories.read(OWNER, memory.id)

    assert "Verified." in act(browser, memory, "verify", reason="Ada <saw> it")
    assert "Reason: <bdi>Ada &lt;saw&gt; it</bdi>" in browser.get(f"/memories/{memory.id}").text
    assert now().status is Status.VERIFIED
    assert "Locked." in act(browser, memory, "lock")
    assert now().locked_by is Role.MANAGER
    page = browser.get(f"/memories/{memory.id}").text
    assert "/unlock" in page
    assert f"/memories/{memory.id}/edit" not in page
    assert "Unlocked." in act(browser, memory, "unlock")
    assert now().status is Status.VERIFIED
    assert "Out of date: agents" in act(browser, memory, "deprecate", reason="We drink coffee now")
    assert now().status is Status.DEPRECATED
    assert "We drink coffee now" in browser.get(f"/memories/{memory.id}").text
    entries = reversed(site.app.trail.entries(OWNER, subject=memory.id, actor="grace"))
    reasons = [(each.act, each.reason) for each in entries]
    expected = {"verify": "Ada <saw> it", "deprecate": "We drink coffee now"}
    assert reasons == [(act, expected.get(act, "")) for act, _ in reasons]
    assert expected.keys() <= dict(reasons).keys()


def test_the_ends_of_a_memory_are_explained_where_they_are_chosen(site: Site) -> None:
    memory = site.remember("Tea at five")
    page = site.owner().get(f"/memories/{memory.id}").text
    ends = page.split('<details class="ends">')[1].split("</details>")[0]
    found = re.findall(r'href="/memories/\w+/(\w+)">[^<]+</a></dt><dd>([^<]+)</dd>', ends)
    assert [name for name, _ in found] == ["supersede", "invalidate", "deprecate", "forget"]
    assert len({says for _, says in found}) == 4


def test_superseding_leads_from_the_old_text_to_the_new_one(site: Site) -> None:
    memory = site.remember("Tea at four", type=MemoryType.CONVENTION, importance=7)
    page = act(
        site.owner(), memory, "supersede", text="Tea at five", title="", reason="The clock moved"
    )
    assert "This holds now" in page
    old = site.app.memories.read(OWNER, memory.id)
    assert old.reason == "The clock moved"
    assert old.superseded_by is not None
    new = site.app.memories.read(OWNER, old.superseded_by)
    assert (new.content, new.type, new.importance) == ("Tea at five", memory.type, 7)
    assert old.superseded_by in site.owner().get(f"/memories/{memory.id}").text


def test_invalidating_ends_a_memory_with_its_reason(site: Site) -> None:
    memory = site.remember("Tea at four")
    assert "Ended" in act(site.owner(), memory, "invalidate", reason="No more tea")
    page = site.owner().get(f"/memories/{memory.id}").text
    assert "does not hold now" in page
    assert "No more tea" in page


def test_forgetting_needs_a_yes_and_leaves_the_trail(site: Site) -> None:
    memory = site.remember("Tea at four")
    browser = site.owner()
    browser.get(f"/memories/{memory.id}/forget")
    assert browser.post(f"/memories/{memory.id}/forget").status_code == 400
    act(browser, memory, "forget", sure="yes")
    with pytest.raises(NotFound):
        site.app.memories.read(OWNER, memory.id)
    assert browser.get(f"/memories/{memory.id}").status_code == 404
    assert site.app.trail.entries(OWNER, subject=memory.id, act="delete")


def test_what_was_removed_can_be_restored_and_so_can_an_earlier_text(site: Site) -> None:
    memory = site.remember("Tea at four")
    site.app.memories.update(OWNER, memory.id, {"content": "Tea at five"})
    site.app.memories.remove(OWNER, memory.id)
    browser = site.owner()
    assert "removed" in browser.get(f"/memories/{memory.id}").text
    assert "Restored." in act(browser, memory, "restore")
    assert (
        "The text of version 1 returns."
        in browser.get(f"/memories/{memory.id}/restore?version=1").text
    )
    assert "Restored." in act(browser, memory, "restore", number="1")
    assert site.app.memories.read(OWNER, memory.id).content == "Tea at four"
    assert browser.post(f"/memories/{memory.id}/restore", number="x").status_code == 400
    assert browser.post(f"/memories/{memory.id}/restore", number="99").status_code == 404


def test_the_reason_of_what_was_refused_is_kept_too_and_none_is_too_long(site: Site) -> None:
    memory = site.remember("Tea at four")
    browser = site.bearer(Role.HUMAN)
    browser.get(f"/memories/{memory.id}/lock")
    path = f"/memories/{memory.id}/lock"
    assert browser.post(path, reason="x" * 2001).status_code == 400
    assert browser.post(path, reason="So that it stays").status_code == 403
    (entry,) = site.app.trail.entries(OWNER, subject=memory.id, act="lock")
    assert (entry.outcome, entry.reason) == ("Forbidden", "So that it stays")
    assert site.app.trail.verify("default") is None


@pytest.mark.parametrize("name", ["deprecate", "invalidate", "supersede"])
def test_an_act_that_needs_a_reason_does_nothing_without(site: Site, name: str) -> None:
    memory = site.remember("Tea at four")
    browser = site.owner()
    browser.get(f"/memories/{memory.id}/{name}")
    answer = browser.post(f"/memories/{memory.id}/{name}", reason="  ", text="x", title="")
    assert answer.status_code == 400
    assert "Reason must not be empty" in answer.text
    assert site.app.memories.read(OWNER, memory.id) == memory


@pytest.mark.parametrize(
    ("role", "name", "words"),
    [
        (Role.AGENT, "verify", "the role agent may not verify"),
        (Role.HUMAN, "lock", "a manager may"),
        (Role.VIEWER, "forget", "may only read"),
        (Role.AGENT, "forget", "an agent deletes only its own"),
    ],
)
def test_what_a_role_may_not_is_refused_in_words_and_entered(
    site: Site, role: Role, name: str, words: str
) -> None:
    memory = site.remember("Tea at four")
    browser = site.bearer(role)
    browser.get(f"/memories/{memory.id}/{name}")
    answer = browser.post(f"/memories/{memory.id}/{name}", sure="yes")
    assert answer.status_code == 403
    assert words in answer.text.replace("&#39;", "'")
    assert site.app.memories.read(OWNER, memory.id) == memory
    entries = site.app.trail.entries(OWNER, subject=memory.id)
    assert [e.outcome for e in entries if e.actor == "grace"] == ["Forbidden"]


def test_unknown_memories_and_acts_have_pages_of_their_own(site: Site) -> None:
    memory = site.remember("Tea at four")
    browser = site.owner()
    assert browser.get("/memories/none").status_code == 404
    assert browser.get(f"/memories/{memory.id}/explode").status_code == 400
    assert browser.post(f"/memories/{memory.id}/explode").status_code == 400
    assert browser.get("/memories/%00%ff/edit").status_code == 404


def test_a_stopped_store_is_a_page_that_says_so_and_what_helps(site: Site) -> None:
    memory = site.remember("Tea at four")
    browser = site.owner()
    browser.get("/find")
    site.app.infrastructure.store.close()
    answer = browser.get(f"/memories/{memory.id}")
    assert answer.status_code == 503
    assert "minutebook doctor" in answer.text


@pytest.mark.parametrize(
    ("redact", "said"),
    [
        (Redact.WARN, "Secrets were found and are kept as they stand"),
        (Redact.MASK, "Secrets were found and masked before anything was kept"),
    ],
)
@pytest.mark.parametrize("name", ["edit", "supersede"])
def test_a_page_says_that_a_text_brought_a_secret(
    tmp_path: Path, redact: Redact, said: str, name: str
) -> None:
    with site_on(tmp_path / "home", redact=redact) as site:
        memory = site.remember("Tea at four")
        text = f"the password is {'Xk9-qZ' * 3}wV2"
        page = act(site.owner(), memory, name, text=text, title="Tea", reason="new")
        assert said in page
        assert "password" in page.split(said)[1].split("</p>")[0]
        assert "Secrets were found" not in site.owner().get(f"/memories/{memory.id}").text


def test_a_link_puts_no_words_into_what_a_page_says_of_secrets(site: Site) -> None:
    memory = site.remember("Tea at four")
    page = site.owner().get(f"/memories/{memory.id}?kept=call+this+number&masked=,").text
    assert "call this number" not in page
    assert "Secrets were found" not in page
