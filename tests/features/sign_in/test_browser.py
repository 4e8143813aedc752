"""Signing in at a provider in Chromium, from one site to another and back, and out again."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage, expect

from minutebook.config import settings_with
from minutebook.features.http.process import listen
from minutebook.features.http.requests.hosts import Address
from minutebook.features.pages.frame.sign_ins import SignIns
from minutebook.serve.app_loader import AppLoader
from tests.features.pages.site import pages_on
from tests.features.pages.test_browser import browser, pytestmark
from tests.features.sign_in.openid_provider import (
    CLIENT,
    SECRET,
    OpenIdProvider,
    provided,
    served_at,
)

__all__ = ["browser", "pytestmark"]


@contextmanager
def serving(home: Path) -> Iterator[tuple[str, OpenIdProvider]]:
    """Serve pages at localhost and a provider at 127.0.0.1: to a browser these are two sites."""
    listener = listen(Address("127.0.0.1", 0))
    base = f"http://localhost:{listener.getsockname()[1]}"
    with provided(f"{base}/signin/callback") as provider:
        settings = settings_with(
            home=home,
            embedder="none",
            public_url=base,
            jwt_issuer=provider.url,
            jwt_audience=("api",),
            jwt_keys=f"{provider.url}/keys",
            oidc_client=CLIENT,
            oidc_secret=SECRET,
        )
        with (
            closing(AppLoader(settings)) as loader,
            served_at(listener, pages_on(settings, loader, SignIns())),
        ):
            yield base, provider


def test_a_person_signs_in_at_the_provider_and_out_again(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "pages") as (base, provider):
        context = browser.new_context()
        context.set_default_timeout(60_000)
        page = context.new_page()
        faults: list[str] = []

        def note(message: ConsoleMessage) -> None:
            # The provider's own pages are not ours to mend; that one is answered by 403 is meant so.
            if message.type == "error" and message.location["url"].startswith(base):
                faults.append(message.text)

        page.on("console", note)
        page.goto(f"{base}/settings")
        page.get_by_role("link", name="Sign in at 127.0.0.1").click()
        page.get_by_role("button", name="Sign in as Ana").click()
        page.wait_for_url(f"{base}/settings")
        expect(page.get_by_role("banner")).to_contain_text("ana human")
        kept = {each["name"]: each for each in context.cookies()}
        session = kept[f"minutebook-{base.rpartition(':')[2]}"]
        assert session["sameSite"] == "Strict"
        assert session["httpOnly"]
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url(f"{base}/signin")
        assert provider.asked[-1] == "end"
        page.goto(f"{base}/settings")
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        provider.denies = True
        page.get_by_role("link", name="Sign in at 127.0.0.1").click()
        page.get_by_role("button", name="Sign in as Ana").click()
        expect(page.get_by_role("heading", name="You were not signed in")).to_be_visible()
        assert [each for each in faults if "403" not in each] == []
        context.close()
