"""Errors in the reader's language: every sentence that the domain refuses with is known to the pages."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import minutebook
from minutebook.domain.errors import Conflict, Forbidden, InvalidInput, Locked
from minutebook.web.catalogue import LANGUAGES, speaking
from minutebook.web.reasons import SENTENCES, said
from minutebook.web.wording import trouble_of
from tests.web.conftest import Site

SOURCE = Path(minutebook.__file__).parent
REACHED = (
    "domain/policy.py",
    "domain/drafts.py",
    "domain/grants.py",
    "services/knowledge/links.py",
)
"""Whose refusals people meet on pages."""

ELSEWHERE = ("bring", "brought", "taken out", "over a token", "named for", "and names it as")
"""Parts of sentences that no page leads to, or that another sentence completes."""


def sentences(path: str) -> Iterator[str]:
    """The reasons in a module, with a letter in place of each value."""
    for node in ast.walk(ast.parse((SOURCE / path).read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found = [*node.args[1:2]] if node.func.id in _ERRORS else []
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "reason":
            found = [node.value]
        else:
            continue
        for each in found:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield each.value
            elif isinstance(each, ast.JoinedStr):
                yield "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "x"
                    for part in each.values
                )


_ERRORS = {each.__name__ for each in (Conflict, Forbidden, InvalidInput, Locked)} | {
    "ScopeViolation"
}


@pytest.mark.parametrize("path", REACHED)
def test_each_refusal_of_the_domain_is_said_in_german(path: str) -> None:
    given = {each for each in sentences(path) if not any(part in each for part in ELSEWHERE)}
    assert given
    with speaking(LANGUAGES["de"]):
        assert {each for each in given if said(each) == each} == set()


def test_each_sentence_is_known_by_what_it_says_and_by_no_other() -> None:
    for message in SENTENCES:
        names = {
            name: f"<{name}>" for name in ("name", "id", "role", "own", "type", "scope", "act")
        }
        names |= {name: f"<{name}>" for name in ("status", "target", "targets", "count", "given")}
        names |= {name: f"<{name}>" for name in ("names", "most", "least")}
        sentence = message.format(**names)
        assert said(sentence) == sentence
        with speaking(LANGUAGES["de"]):
            german = said(sentence)
        assert german != sentence, message
        wanted = sorted(each for each in names.values() if each in sentence)
        assert sorted(each for each in names.values() if each in german) == wanted


def test_a_page_refuses_in_german_and_an_unknown_sentence_stays() -> None:
    error = Forbidden("verify", "the role agent may not verify; a human may")
    with speaking(LANGUAGES["de"]):
        assert "die Rolle Agent darf nicht bestätigen" in trouble_of(error).reason
        assert trouble_of(Conflict("m1", "the tide is out")).reason == "M1: the tide is out."
    assert "the role agent may not verify" in trouble_of(error).reason


def test_the_trail_is_read_in_german_and_filtered_by_its_own_words(site: Site) -> None:
    site.remember("Tea at five.")
    browser = site.owner()
    page = browser.get("/activity?act=created", accept_language="de").text
    assert "<b>Angelegt</b>" in page
    assert '<option value="created" selected>Angelegt</option>' in page
    assert "<b>created</b>" in browser.get("/activity?act=created").text
