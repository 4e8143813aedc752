"""The pages in Chromium, as a person uses them: a real server, real keys, no script, small screens."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

from minutebook.app import App, open_app
from minutebook.config import settings_with
from minutebook.features.code.projects import Projects
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.proposals import Proposals
from minutebook.record.records import Memory, MemoryType
from minutebook.record.writing.decision_drafts import DecisionDraft
from minutebook.record.writing.drafts import Draft
from tests.conformance.npm import MODULES
from tests.features.pages.site import AGENT
from tests.features.pages.test_hostile_text import HOSTILE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = MODULES / "axe-core" / "axe.min.js"

QUIET = ("--disable-gpu", "--disable-software-rasterizer", "--renderer-process-limit=1")
"""Flags that spare processes."""

# Five seconds, the default, are little on a machine that runs other tests.
expect.set_options(timeout=60_000)

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(
        CHROMIUM is None, reason="needs Chromium; `apt-get install chromium` brings it"
    ),
]


def is_fault(message: ConsoleMessage) -> bool:
    """Tell whether the console has an error, and not a request that was cut short by the next page."""
    is_cut = message.text.startswith(("htmx:sendAbort", "htmx:afterRequest"))
    return message.type == "error" and not is_cut


@dataclass
class Window:
    """A page in a browser that is signed in, and what went wrong in it."""

    page: Page
    base: str
    faults: list[str] = field(default_factory=list)

    def goto(self, path: str) -> None:
        self.page.goto(self.base + path)

    def check(self) -> None:
        assert self.faults == []


@dataclass(frozen=True)
class Kept:
    """A server on a store with these memories."""

    base: str
    state: object
    deploy: Memory
    hostile: list[Memory]
    proposal: str
    kettle: str


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # As root, Chromium has no sandbox of its own. What a page looks like is computed, and drawn by no card.
        is_root = hasattr(os, "geteuid") and os.geteuid() == 0
        flags = [*QUIET, *(["--no-sandbox"] if is_root else [])]
        one = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield one
        one.close()


@pytest.fixture(scope="module")
def kept(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    home = tmp_path_factory.mktemp("pages")
    with closing(open_app(settings_with(home=home, embedder="none"))) as app:
        deploy, hostile, proposal, kettle = _filled(app)
        pot = tmp_path_factory.mktemp("code") / "pot"
        pot.mkdir()
        text = "def kettle(x):\n    # " + "long " * 90 + "\n    return f'{x}' + 'y' * 3\n"
        (pot / "kettle.py").write_text(text)
        app.get(Projects).index(AGENT, str(pot))
    command = [sys.executable, "-P", "-m", "minutebook", "ui", "--no-browser", "--home", str(home)]
    environment = {**os.environ, "MINUTEBOOK_EMBEDDER": "none"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        context = browser.new_context()
        page = context.new_page()
        page.goto(link)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        base = link.partition("/enter")[0]
        yield Kept(base, context.storage_state(), deploy, hostile, proposal, kettle)
    finally:
        process.kill()
        process.wait()


def _filled(app: App) -> tuple[Memory, list[Memory], str, str]:
    def remember(content: str, title: str | None = None) -> Memory:
        return app.memories.store(AGENT, Draft(content=content, type=MemoryType.FACT, title=title))

    kettle = app.entities.create_entity(AGENT, "Kettle", "project", None, None)
    deploy = remember("Kettle is deployed on **Tuesdays**.", "When Kettle is deployed")
    remember("Kettle is deployed by Ada " + "and everybody else " * 40)
    app.memories.update(AGENT, deploy.id, {"content": "Kettle is deployed on **Thursdays**."})
    hostile = [remember(f"stone {text}", text) for text in HOSTILE]
    remember("x" * 3000, "y" * 500)
    app.sessions.add(AGENT, "s", "How is Kettle deployed?", "A thought", "By make deploy.")
    draft = DecisionDraft("Deploy Kettle on Tuesdays", "deploy", "Because **Ada** has time then.")
    app.get(DecisionActs).record(AGENT, draft)
    why = "Because **Grace** has time then. " + "x" * 300
    proposal = app.get(Proposals).propose(
        AGENT, replace(draft, rationale=why, consequences=("One",))
    )
    app.summaries.summarize(AGENT, "s")
    return deploy, hostile, proposal.id, kettle.id


@pytest.fixture
def window(browser: Browser, kept: Kept) -> Iterator[Window]:
    context = browser.new_context(storage_state=kept.state)  # type: ignore[arg-type]
    yield opened(context, kept)
    context.close()


def opened(context: BrowserContext, kept: Kept) -> Window:
    """Open a page that notes errors of the console and of script, dialogs, and requests elsewhere."""
    context.set_default_timeout(60_000)
    one = Window(context.new_page(), kept.base)
    one.page.on("console", lambda m: one.faults.append(m.text) if is_fault(m) else None)
    one.page.on("pageerror", lambda error: one.faults.append(str(error)))
    # A dialog that nobody answers holds the page, and with it the test.
    one.page.on("dialog", lambda dialog: one.faults.append(dialog.message))
    one.page.on(
        "request",
        lambda sent: None if sent.url.startswith(kept.base) else one.faults.append(sent.url),
    )
    return one


def paths(kept: Kept) -> list[str]:
    """The pages that every check walks over."""
    memory = f"/memories/{kept.deploy.id}"
    return [
        "/today",
        "/find",
        "/find?q=kettle",
        memory,
        f"{memory}/supersede",
        f"{memory}/forget",
        "/signin",
        "/decisions",
        f"/decisions/{kept.proposal}",
        "/sessions",
        "/session?name=s",
        "/session?name=s&q=kettle",
        "/activity",
        "/activity/proof",
        "/health/examined",
        "/settings",
        "/more",
        "/graph",
        f"/graph?at={kept.kettle}&open={kept.deploy.id}",
        "/review?of=active",
        "/review",
        "/review?of=proposal",
        "/code",
        "/code?q=kettle",
        "/code/file?project=pot&path=kettle.py&line=3",
    ]


def test_a_person_finds_opens_and_edits_by_keyboard_alone(window: Window, kept: Kept) -> None:
    page = window.page
    window.goto("/find")
    page.keyboard.type("deployed kettle thurs")
    hit = page.get_by_role("link", name="When Kettle is deployed")
    expect(page.locator("#results mark").first).to_be_visible()
    # The results of the whole question are there with its address: those of a part of it would be replaced.
    expect(page).to_have_url(re.compile(r"/find\?q=deployed(%20|\+)kettle(%20|\+)thurs$"))
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    while not hit.evaluate("each => each === document.activeElement"):
        # Beyond the first hit is the field.
        expect(page.get_by_role("searchbox")).not_to_be_focused()
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="When Kettle is deployed")).to_be_visible()
    expect(page.locator("details[open] ins")).to_have_text("Thursdays")
    page.get_by_role("link", name="Edit").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Text").focus()
    page.keyboard.press("Control+End")
    page.keyboard.type(" Never on Fridays.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Saved as a new version.")
    expect(page.locator("details[open] ins")).to_have_text(" Never on Fridays.")
    page.keyboard.press("/")
    window.check()


def test_a_person_verifies_many_by_keyboard_alone_and_undoes_it(window: Window) -> None:
    page = window.page
    window.goto("/review?of=active")
    boxes = page.locator("main").get_by_role("checkbox")
    page.keyboard.press("ArrowDown")
    expect(boxes.first).to_be_focused()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    expect(boxes.nth(1)).to_be_focused()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Apply what is chosen").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("2 memories verified.")
    page.get_by_role("button", name="Undo").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("2 acts undone.")
    page.keyboard.press("a")
    expect(boxes.last).to_be_checked()
    window.check()


def test_why_opens_and_names_the_signals(window: Window) -> None:
    window.goto("/find?q=kettle")
    why = window.page.locator("details.why").first
    why.locator("summary").focus()
    window.page.keyboard.press("Enter")
    expect(why.get_by_role("table")).to_be_visible()
    expect(why).to_contain_text("Way in the graph")
    window.check()


def test_results_come_as_one_types_and_the_address_keeps_them(window: Window) -> None:
    page = window.page
    window.goto("/find")
    page.get_by_role("searchbox").fill("tuesdays or thursdays")
    expect(page.locator(".hit").first).to_contain_text("When Kettle is deployed")
    page.locator(".kinds label", has_text="Sessions").click()
    expect(page).to_have_url(re.compile("in=sessions"))
    page.get_by_role("searchbox").fill("kettle deployed")
    expect(page.locator("#results")).to_contain_text("By make deploy.")
    page.reload()
    expect(page.get_by_role("searchbox")).to_have_value("kettle deployed")
    expect(page.locator("#results")).to_contain_text("By make deploy.")
    window.check()


def test_the_graph_grows_in_place_and_goes_back(window: Window, kept: Kept) -> None:
    page = window.page
    window.goto(f"/graph?at={kept.kettle}")
    grown = re.compile(r"open=" + kept.deploy.id)
    page.locator(f'svg a[data-grow="{kept.deploy.id}"]').click()
    expect(page).to_have_url(grown)
    expect(page.locator("svg a.opened")).to_have_count(2)
    page.get_by_role("link", name="Close When Kettle is deployed").click()
    expect(page.locator("svg a.opened")).to_have_count(1)
    page.go_back()
    expect(page).to_have_url(grown)
    expect(page.locator("svg a.opened")).to_have_count(2)
    window.check()


def test_activity_shows_what_happens_elsewhere(window: Window, kept: Kept) -> None:
    page = window.page
    window.goto("/activity?act=verify")
    expect(page.locator("#live")).to_contain_text("Live")
    other = page.context.new_page()
    other.goto(f"{kept.base}/memories/{kept.hostile[0].id}/verify")
    other.get_by_role("button", name="Verify it").click()
    expect(other.get_by_role("status")).to_be_visible()
    other.close()
    expect(page.locator("#entries li.new")).to_have_count(1)
    expect(page.locator("#entries li.new time")).not_to_contain_text("UTC")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#live")).to_contain_text("Paused")
    page.get_by_role("button", name="Go on").click()
    expect(page.locator("#live")).to_contain_text("Live")
    window.check()


def test_a_person_finds_code_and_reads_on_around_it(window: Window, kept: Kept) -> None:
    page = window.page
    window.goto("/code")
    expect(page.locator("#projects")).to_contain_text("pot")
    page.get_by_role("searchbox").fill("kettle")
    expect(page).to_have_url(re.compile(r"/code\?q=kettle"))
    # What is typed into a filter counts at once: left for a result, the field would replace the results under the pointer.
    page.get_by_label("Path begins with").fill("kettle")
    expect(page).to_have_url(re.compile(r"/code\?q=kettle&path=kettle"))
    page.get_by_label("Language").select_option("python")
    expect(page).to_have_url(re.compile(r"language=python&path=kettle"))
    page.get_by_role("link", name=re.compile("kettle.py:1")).click()
    expect(page.locator("#L2.here")).to_be_visible()
    window.check()


def test_times_are_local_and_the_exact_one_is_on_hover(browser: Browser, kept: Kept) -> None:
    context = browser.new_context(
        storage_state=kept.state,  # type: ignore[arg-type]
        locale="en-GB",
        timezone_id="Pacific/Kiritimati",
    )
    window = opened(context, kept)
    window.goto(f"/memories/{kept.deploy.id}")
    time = window.page.locator("time").first
    expect(time).to_have_attribute("title", re.compile(r"GMT\+14.*\+00:00"))
    expect(time).not_to_contain_text("UTC")
    context.close()


def test_hostile_text_runs_nothing_and_fetches_nothing(window: Window, kept: Kept) -> None:
    window.goto("/find?q=stone")
    expect(window.page.locator(".hit").first).to_be_visible()
    for memory in kept.hostile:
        window.goto(f"/memories/{memory.id}")
        expect(window.page.locator("main .acts")).to_be_visible()
    window.goto(f"/memories/{kept.hostile[0].id}/edit")
    expect(window.page.get_by_label("Text")).to_be_visible()
    window.check()


def test_reading_needs_no_script(browser: Browser, kept: Kept) -> None:
    context = browser.new_context(storage_state=kept.state, java_script_enabled=False)  # type: ignore[arg-type]
    window = opened(context, kept)
    window.goto("/find")
    window.page.get_by_role("searchbox").fill("kettle thursdays")
    window.page.keyboard.press("Enter")
    window.page.get_by_role("link", name="When Kettle is deployed").click()
    expect(window.page.locator(".text")).to_contain_text("Thursdays")
    window.page.get_by_role("link", name="Verify").click()
    window.page.get_by_role("button", name="Verify it").click()
    expect(window.page.get_by_role("status")).to_have_text("Verified.")
    context.close()
    window.check()


LOOKED_AT = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]
"""The rules of axe whose answer depends on colours and sizes, and not on the markup alone."""


@pytest.mark.parametrize(
    ("width", "scheme", "locale", "rules"),
    [
        (1024, "light", "en-GB", None),
        # German words are the longer ones. The markup is the same: its rules were asked above.
        (320, "dark", "de-DE", LOOKED_AT),
        pytest.param(320, "dark", "de-DE", None, marks=pytest.mark.slow),
        pytest.param(320, "light", "en-GB", None, marks=pytest.mark.slow),
        pytest.param(1920, "dark", "de-DE", None, marks=pytest.mark.slow),
    ],
)
def test_pages_fit_the_screen_and_axe_finds_nothing(
    browser: Browser, kept: Kept, width: int, scheme: str, locale: str, rules: list[str] | None
) -> None:
    context = browser.new_context(
        storage_state=kept.state,  # type: ignore[arg-type]
        locale=locale,
        viewport={"width": width, "height": 700},
        color_scheme="light" if scheme == "light" else "dark",
    )
    window = opened(context, kept)
    if AXE.exists():
        # By the debugger's own door, which the pages' policy does not bind.
        window.page.add_init_script(path=AXE)
    for path in paths(kept):
        window.goto(path)
        expect(window.page.locator("html")).to_have_attribute("lang", locale[:2])
        wide = window.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, (path, wide)
        window.page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
        wide = window.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, (path, wide)
        if AXE.exists():
            check_accessible(window.page, path, rules)
    context.close()
    window.check()


def check_accessible(page: Page, path: str, rules: list[str] | None) -> None:
    """Fail with what violates axe's rules, all or those that are named."""
    chosen = {"resultTypes": ["violations"]} | ({} if rules is None else {"runOnly": rules})
    found = page.evaluate("chosen => axe.run(document, chosen)", chosen)
    told = [
        f"{path}: {each['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for each in found["violations"]
        for node in each["nodes"]
    ]
    assert told == []


@pytest.mark.parametrize("locale", ["en", "de"])
@pytest.mark.parametrize(("width", "rows"), [(1024, 1), (390, 2)])
def test_the_head_is_one_row_on_a_small_laptop_and_two_on_a_telephone(
    browser: Browser, kept: Kept, locale: str, width: int, rows: int
) -> None:
    state: object = kept.state
    with closing(
        browser.new_context(
            storage_state=state,  # type: ignore[arg-type]
            viewport={"width": width, "height": 700},
            locale=locale,
        )
    ) as context:
        page = context.new_page()
        page.goto(kept.base + "/more")
        middles = page.eval_on_selector_all(
            ".brand, .top nav a, .who",
            "all => all.map(e => e.getBoundingClientRect()).map(r => r.top + r.height / 2)",
        )
        assert len({round(each / 20) for each in middles}) == rows
        assert page.evaluate("document.documentElement.scrollWidth") <= width
