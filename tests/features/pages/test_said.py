"""Reasons in the reader's language: each that any code gives, on the page of an error."""

import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from string import Formatter

import pytest

from minutebook.features.pages.frame.catalogue import LANGUAGES, speaking
from minutebook.features.pages.frame.page import Frame
from minutebook.features.pages.frame.rendering import trouble_page
from minutebook.features.pages.frame.wording import trouble_of
from minutebook.features.pages.frame.words import WORDS, said
from minutebook.record.errors import (
    Conflict,
    Forbidden,
    InBatch,
    InvalidInput,
    LedgerError,
    Locked,
    MinutebookError,
    NotFound,
    StoreError,
    UnderReview,
)
from minutebook.record.reason import Reason, Word, counted, must_be_one_of, os_error_reason
from minutebook.record.records import Role, Status
from tests.features.pages.site import Site
from tools.messages import reasons
from tools.reasons import Template, has_words

GERMAN = LANGUAGES["de"]
TEMPLATES = {each.text: each for each in reasons().templates()}

_ENGLISH = re.compile(
    r"\b(the|is|are|be|must|cannot|not|of|and|with|it|this|which|by|its|may|has)\b", re.IGNORECASE
)
_VERBATIM = re.compile(r"--[\w-]+|`[^`]*`|«[^»]*»|pip install \S+|read-write")


def value_for(name: str, spec: str) -> object:
    """A value that a template can write, and that is known again."""
    if "%Y" in spec or "%F" in spec:
        return datetime(2026, 3, 1, 12, tzinfo=UTC)
    return 1234 if spec else f"«{name}»"


def reason_of(template: Template) -> Reason:
    values = {
        name: value_for(name, spec or "")
        for _, name, spec, _ in Formatter().parse(template.text)
        if name is not None
    }
    return Reason(template.text, **values)


class _Text(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.text = ""
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(error: MinutebookError) -> str:
    """The text of an error's page, as a browser that asks for German gets it."""
    with speaking(GERMAN):
        response = trouble_page(trouble_of(error), Frame(here="/"), {})
    return " ".join(_Text(bytes(response.body).decode()).text.split())


@pytest.mark.whole
def test_the_reasons_are_found_where_they_are_given() -> None:
    assert len(TEMPLATES) > 700
    found = {
        "locked by the role {role}, which outranks {own}": "record/policy.py",
        "must be one of {names}": "record/reason.py",
        "{count:,} record was compared by words alone: its vectors are still to come.": (
            "memory/embeddings.py"
        ),
        "the store was stopped": "memory/maintenance/database.py",
        "how it was before is not known any more": "features/undo/undo.py",
    }
    assert {text: str(TEMPLATES[text].path) for text in found} == found


@pytest.mark.parametrize("path", sorted({each.path.parts[0] for each in TEMPLATES.values()}))
def test_no_reason_is_english_on_a_german_page(path: str) -> None:
    for text, template in TEMPLATES.items():
        if template.path.parts[0] != path or not has_words(text):
            continue
        reason = reason_of(template)
        page = shown(Conflict("m1", reason))
        with speaking(GERMAN):
            german = " ".join(said(reason).split())
        assert german.replace("`", "") in page, text
        assert not _ENGLISH.search(_VERBATIM.sub("", german)), german
        for name, value in reason.values.items():
            assert not isinstance(value, str) or value in german, (name, german)


def test_a_reason_is_an_english_text_until_it_is_said() -> None:
    reason = Reason("locked by the role {role}, which outranks {own}", role=Role.ADMIN, own="x")
    assert reason == "locked by the role admin, which outranks x"
    assert said(reason) == reason
    with speaking(GERMAN):
        assert said(reason) == "gesperrt von der Rolle Admin, die über x steht"
        assert said("the tide is out") == "the tide is out"
        assert said(Reason("{not} a name")) == "{not} a name"
        assert said(Reason("")) == ""


def test_words_and_reasons_in_a_reason_are_said_and_numbers_written() -> None:
    inner = Reason("must have at most {most:,} characters", most=12_000)
    outer = Reason("{what} (got {given})", what=inner, given="{given}")
    act = Reason("the role {role} may not {what}; a manager may", role="x", what=Word("lock"))
    with speaking(GERMAN):
        assert said(outer) == "darf höchstens 12.000 Zeichen haben (war {given})"
        assert said(act) == "der Rolle x ist nicht erlaubt: Sperren; ein Manager darf es"
        assert said(Reason("it is {status}", status=Status.VERIFIED)) == "der Stand ist: bestätigt"
        assert said(Reason("{path}: {cause}", path="/a.b", cause="1,5")) == "/a.b: 1,5"


def test_a_count_is_said_in_its_number() -> None:
    one, many = "{count:,} record was …", "{count:,} records were …"
    assert counted(one, many, 1) == "1 record was …"
    assert counted(one, many, 1200) == "1,200 records were …"


def test_what_is_asked_again_and_again_has_its_reason() -> None:
    assert must_be_one_of(Role, "x" * 60).endswith(f"(got '{'x' * 50}')")
    assert must_be_one_of(("a", "b")) == "must be one of a, b"
    assert os_error_reason("/data", PermissionError(13, "Permission denied")) == (
        "/data: Permission denied"
    )


@pytest.mark.parametrize(
    ("error", "said_so"),
    [
        (NotFound("memory", "m1"), "Erinnerung m1 gibt es nicht"),
        (Forbidden("verify", "the role agent may not verify; a human may"), "bestätigen"),
        (Locked("delete", Reason("locked by the role {role}", role=Role.ADMIN), "m1"), "Admin"),
        (InvalidInput("the text", "must not be empty"), "Der Text darf nicht leer sein."),
        (LedgerError("{path}: gone", "try again", path="p"), "Erneut versuchen."),
        (
            StoreError(os_error_reason("/data", PermissionError(13, "Permission denied"))),
            "/data: das Recht fehlt.",
        ),
        (InBatch(3, NotFound("memory", "m1")), "[3]: Erinnerung m1 gibt es nicht"),
        (
            UnderReview(
                "accept", Reason("its review is not over"), "p1", datetime(2026, 3, 1, tzinfo=UTC)
            ),
            "01.03.2026 00:00:00",
        ),
    ],
)
def test_an_error_is_a_german_sentence_on_its_page(error: MinutebookError, said_so: str) -> None:
    assert said_so in shown(error)
    with speaking(GERMAN):
        assert trouble_of(error).status == error.status


def test_each_act_that_is_refused_has_a_word() -> None:
    acts = {"accept", "change", "delete", "erase", "lock", "mask", "merge", "split", "tidy", "undo"}
    assert acts <= WORDS.keys()


def test_the_trail_is_read_in_german_and_filtered_by_its_own_words(site: Site) -> None:
    site.remember("Tea at five.")
    browser = site.owner()
    page = browser.get("/activity?act=created", accept_language="de").text
    assert "<b>Angelegt</b>" in page
    assert '<option value="created" selected>Angelegt</option>' in page
    assert "<b>created</b>" in browser.get("/activity?act=created").text
