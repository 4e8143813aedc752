"""Each address on a page leads to a page that is there: none is left of a feature that is not."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from starlette.routing import compile_path

from minutebook.features.pages.frame.register import views
from tests.features.pages.site import OWNER, site_on

OTHERS = [
    ("GET", "/enter"),
    ("GET", "/signin"),
    ("POST", "/signin"),
    ("POST", "/signout"),
    ("GET", "/static/{name:path}"),
]
"""What the frame serves besides views."""


def addresses(page: str) -> Iterator[tuple[str, str]]:
    """Yield the method and path of each link and form."""
    for tag, words in re.findall(r"<(a|form)\b([^>]*)>", page):
        if found := re.search(r'\b(?:href|action)="(/[^"?#]*)', words):
            is_post = tag == "form" and 'method="post"' in words
            yield "POST" if is_post else "GET", unescape(found[1])


def test_no_link_and_no_form_leads_to_a_page_that_is_not_there(tmp_path: Path) -> None:
    served = OTHERS + [each for of in views() for each in of]
    patterns = [(each, compile_path(each[1])[0]) for each in served]
    seen = {path for method, path in served if method == "GET" and "{" not in path}
    waiting = sorted(seen)
    with site_on(tmp_path) as site:
        browser = site.owner()
        site.remember("The kettle is in the kitchen.")
        site.remember("Tea is made at four.", caller=OWNER)
        while waiting:
            here = waiting.pop()
            answer = browser.get(here)
            # Some need a query to find anything.
            assert answer.status_code < 500, here
            for method, path in addresses(answer.text):
                fitting = [each for each, pattern in patterns if pattern.fullmatch(path)]
                assert method in dict(fitting), f"{here} leads to {method} {path}"
                page = dict(fitting)[method]
                if method == "GET" and page not in seen:
                    seen.add(page)
                    waiting.append(path)
    assert any(page.startswith("/memories/{") for page in seen)
