"""Take the pictures of the web pages that README and guides show: `make pictures`.

The pages of the demo's store, filled as of a fixed day, in Debian's Chromium, light and dark. A picture is
written anew only where it differs from the one that is there.
"""

import base64
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from playwright.sync_api import Browser, Page, sync_playwright

from minutebook.app import open_app
from minutebook.config import environment, settings_with
from minutebook.features.code.reading import CodeReading
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.record.caller import Caller
from minutebook.record.records import Role
from tools.demo_store import fill

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
ENDS = datetime(2026, 6, 30, 12, tzinfo=UTC)
"""When the demo's story ends in the pictures."""

WIDTH, HEIGHT, QUALITY = 1200, 760, 82
LARGEST = 150_000
"""Bytes of a picture at most."""

PAGES = {
    "today": ("/today?date=2026-06-30", ""),
    "find": ("/find?q=what+happens+when+a+payment+fails", ".hit .why summary >> nth=0"),
    "decision": ("/decisions/{decision}", ""),
    "graph": ("/graph?at={entity}", ""),
}
"""What is shown, by the picture's name: an address, and what is clicked there first."""

LOADED_WITHIN = 120.0
"""Seconds that the server has to load the model."""

HOME = Path(tempfile.gettempdir()) / "minutebook-pictures"
"""Where the demo's store is: its path stands on the pages, so it is always the same."""


def main() -> int:
    """Take every picture; 1 if one is too large."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("needs Chromium; `apt-get install chromium` brings it")
    shutil.rmtree(HOME, ignore_errors=True)
    try:
        names = _filled(HOME)
        with _served(HOME) as link, sync_playwright() as playwright:
            flags = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
            browser = playwright.chromium.launch(executable_path=chromium, args=flags)
            taken = _taken(browser, link, names)
            browser.close()
    finally:
        shutil.rmtree(HOME, ignore_errors=True)
    FOLDER.mkdir(exist_ok=True)
    for name, picture in taken.items():
        path = FOLDER / name
        state = "is too large" if len(picture) > LARGEST else "as before"
        if state == "as before" and not (path.exists() and path.read_bytes() == picture):
            path.write_bytes(picture)
            state = "written"
        print(f"{path}: {len(picture):,} bytes, {state}")
    return int(any(len(picture) > LARGEST for picture in taken.values()))


def _filled(home: Path) -> dict[str, str]:
    """Fill the store and wait for its vectors; return the ids that addresses name."""
    settings = settings_with(home=home)
    fill(settings, ENDS, Random(1).getrandbits)
    person = Caller(name="ada", role=Role.ADMIN)
    with closing(open_app(settings)) as app:
        app.start()
        app.embedding.wait()
        while app.overview.to_embed(person) or any(
            each.progress.pending for each in app.get(CodeReading).projects(person)
        ):
            time.sleep(0.2)
        (decision,) = app.get(DecisionActs).active_by_target(person)
        entities, _ = app.surroundings.entities(person, "billing", 1, 0)
    return {"decision": decision.id, "entity": entities[0].id}


@contextmanager
def _served(home: Path) -> Iterator[str]:
    """Serve the pages in a process of its own; yield the link that lets in."""
    command = [sys.executable, "-P", "-m", "minutebook", "ui", "--no-browser", "--home", str(home)]
    variables = {name: value for name, value in environment().items() if "MINUTEBOOK" not in name}
    process = subprocess.Popen(
        [*command, "--role", "admin", "--agent", "ada"],
        stdout=subprocess.PIPE,
        text=True,
        env=variables,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def _taken(browser: Browser, link: str, names: dict[str, str]) -> dict[str, bytes]:
    """Return the pictures by their files' names."""
    first = browser.new_context()
    page = first.new_page()
    page.goto(link)
    signed_in = first.storage_state()
    base = link.partition("/enter")[0]
    until = time.monotonic() + LOADED_WITHIN
    page.goto(base + PAGES["find"][0])
    while page.get_by_text("model is still loading").count():
        if time.monotonic() > until:
            sys.exit("the model did not load; the pictures would show answers by words alone")
        time.sleep(1)
        page.reload()
    taken = {}
    for scheme in ("light", "dark"):
        context = browser.new_context(
            storage_state=signed_in,
            viewport={"width": WIDTH, "height": HEIGHT},
            color_scheme="dark" if scheme == "dark" else "light",
            locale="en-GB",
            timezone_id="UTC",
            reduced_motion="reduce",
        )
        page = context.new_page()
        page.set_default_timeout(120_000)
        for name, (address, opens) in PAGES.items():
            page.goto(base + address.format(**names), wait_until="networkidle")
            if opens:
                page.locator(opens).click()
                page.mouse.move(0, 0)
            taken[f"{name}-{scheme}.webp"] = _picture(page)
        context.close()
    return taken


def _picture(page: Page) -> bytes:
    """Return what the window shows, as WebP, which Playwright's own screenshots are not."""
    session = page.context.new_cdp_session(page)
    options = {"format": "webp", "quality": QUALITY, "captureBeyondViewport": False}
    return base64.b64decode(session.send("Page.captureScreenshot", options)["data"])


if __name__ == "__main__":
    sys.exit(main())
