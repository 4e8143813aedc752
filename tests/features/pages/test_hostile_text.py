"""Whatever is stored does nothing on a page but show."""

import re
from html.parser import HTMLParser

import pytest

from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.pages.frame.markup import LONGEST_MARKDOWN, markdown, visible
from minutebook.record.caller import Call, Caller
from minutebook.record.origin import Origin
from minutebook.record.records import Role
from minutebook.record.writing.decision_drafts import DecisionDraft
from tests.examples import parametrize_in_part
from tests.features.pages.site import AGENT, OWNER, Site

HOSTILE = [
    "<script>alert(1)</script>",
    "\x1b[31mred\x1b[0m\x07 \u202eevil\u202c \u2066x\u2069 \u2028 \x00",
    "<svg onload=alert(1)><a xlink:href='javascript:alert(1)'>x</a></svg>",
    "</style><style>body{display:none}</style>",
    "</textarea></title></main><img src=x onerror=alert(1)>",
    "[x](javascript:alert(1)) [y](JaVaScRiPt:alert(1)) [z](data:text/html;base64,PHN2Zz4=)",
    "[a](vbscript:x) <javascript:alert(1)> ![p](https://evil.example/p.png)",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "{{ 7 * 7 }} {% raw %}",
    "[r]: javascript:alert(1)\n\n[r] [r][r]",
    "# h\n\n<!-- --><iframe src=//evil.example>",
    "&lt;script&gt;&#x6a;avascript:",
    "[x](https://ok.example 'a\" onclick=\"alert(1)')",
]
ALLOWED_TAGS = frozenset(
    [
        "datalist",
        "output",
        "html",
        "head",
        "meta",
        "title",
        "link",
        "script",
        "body",
        "a",
        "header",
        "img",
        "nav",
        "ul",
        "ol",
        "li",
        "form",
        "input",
        "span",
        "bdi",
        "small",
        "button",
        "main",
        "article",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "p",
        "div",
        "section",
        "dl",
        "dt",
        "dd",
        "code",
        "svg",
        "g",
        "line",
        "text",
        "rect",
        "circle",
        "time",
        "details",
        "summary",
        "b",
        "ins",
        "del",
        "footer",
        "label",
        "fieldset",
        "legend",
        "select",
        "option",
        "textarea",
        "mark",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "strong",
        "em",
        "pre",
        "blockquote",
        "hr",
        "br",
        "s",
    ]
)


class Reading(HTMLParser):
    """Notes every tag and attribute as a browser would see them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]


def check_inert(page: str) -> None:
    reading = Reading()
    reading.feed(page)
    assert reading.tags - {"title"} <= ALLOWED_TAGS, reading.tags - ALLOWED_TAGS
    for tag, name, value in reading.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name != "style", (tag, value)
        if name in ("href", "src", "action", "xlink:href"):
            # The one host to which a stored link may lead, if somebody follows it.
            is_link = tag == "a" and value.startswith("https://")
            assert value.startswith(("/", "#")) or is_link, (tag, value)
            assert not value.startswith("//")
        if tag == "script" and name == "src":
            assert value.startswith("/static/")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\u2028]", page)
    assert re.search(r"<script(?![^>]*src=)", page) is None


@parametrize_in_part("text", HOSTILE, every=7)
@pytest.mark.needs("audit_proof", "tidying")
def test_hostile_text_is_inert_on_every_page(site: Site, text: str) -> None:
    name = " ".join(visible(text).split())[:90].replace("\\", "/") or "x"
    origin = Origin(client=name, version=name, session="s")
    caller = Caller(
        name=name, role=Role.HUMAN, organization="default", call=Call(session="s", origin=origin)
    )
    entity = site.app.entities.create_entity(caller, f"stone {text}", text, text, None)
    gem = site.app.entities.create_entity(caller, f"gem {text}", text, text, None)
    site.app.entities.create_relation(caller, entity.id, gem.id, text, 1.0)
    memory = site.remember(
        f"stone {text}", caller, title=text, metadata={text: text, "tags": [text]}
    )
    other = site.remember(f"stone {text} again", caller)
    site.app.links.link(caller, memory.id, other.id, text)
    site.app.memories.update(caller, memory.id, {"content": f"stone {text} more {text}"})
    site.app.sessions.add(caller, "s", f"stone {text}", text, text)
    why = f"Because {name} is so, and has long been so."
    draft = DecisionDraft(f"Stone {text}", f"stone {name}", f"{why} {text}", (text,))
    decision = site.app.get(DecisionActs).record(caller, draft)
    proposal = site.app.get(Proposals).propose(caller, draft)
    site.app.summaries.summarize(caller, "s")
    browser = site.owner()
    for path in (
        "/find",
        "/find?q=stone",
        "/find?q=stone&in=decisions",
        f"/memories/{memory.id}",
        f"/memories/{memory.id}/edit",
        f"/memories/{memory.id}/forget",
        "/decisions",
        f"/decisions/{decision.id}",
        f"/decisions/{proposal.id}",
        "/sessions",
        "/session?name=s",
        "/session?name=s&q=stone",
        "/activity",
        "/activity/proof",
        "/health/examined",
        "/settings",
        "/graph",
        f"/graph?at={entity.id}&open={memory.id}",
        f"/graph?at={memory.id}&open={other.id},{entity.id}",
        "/review?of=active",
        "/review",
        "/review?of=proposal",
    ):
        answer = browser.get(path)
        assert answer.status_code == 200, path
        check_inert(answer.text)
    browser.get(f"/memories/{memory.id}/invalidate")
    browser.followed(
        browser.post(f"/memories/{memory.id}/invalidate", reason=text.replace("\x00", "-"))
    )
    check_inert(browser.get(f"/memories/{memory.id}").text)


@parametrize_in_part("text", HOSTILE, every=4)
@pytest.mark.needs("audit_proof", "tidying")
def test_hostile_addresses_and_forms_are_inert(site: Site, text: str) -> None:
    memory = site.remember("Tea")
    browser = site.owner()
    params = {"q": text, "by": text, "client": text}
    check_inert(browser.http.get("/find", params=params, headers={"accept": "text/html"}).text)
    told = {"u0": f"verify {text} {text}", "o0": text, "undone": text}
    check_inert(browser.http.get("/review", params=told, headers={"accept": "text/html"}).text)
    answer = browser.post("/review", act="apply", pick0=text, reason=text)
    assert answer.status_code == 404
    check_inert(answer.text)
    for path in ("/activity?since=", "/review?of="):
        field = path.split("?")[1][:-1]
        params = {"q": text, field: text}
        answer = browser.http.get(
            path.split("?")[0], params=params, headers={"accept": "text/html"}
        )
        assert answer.status_code == 400, path
        check_inert(answer.text)
    for query in ("type", "since", "from", "in"):
        answer = browser.http.get("/find", params={query: text}, headers={"accept": "text/html"})
        assert answer.status_code == 400
        check_inert(answer.text)
    stranger = site.browser()
    form = stranger.http.get("/signin", params={"next": text})
    check_inert(form.text)
    stranger.get("/signin")
    check_inert(stranger.post("/signin", token=text, next=text).text)
    fields = {"text": text, "title": text, "version": text, "reason": ""}
    check_inert(browser.post(f"/memories/{memory.id}/edit", **fields).text)
    check_inert(browser.post(f"/memories/{memory.id}/supersede", **fields).text)


def test_markdown_is_rendered_and_its_links_tell_nobody() -> None:
    html = markdown(
        "# One\n\n*two* `three`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[x](https://x.example)"
    )
    assert "<h3>One</h3>" in html
    assert "<em>two</em>" in html
    assert "<td>1</td>" in html
    assert 'href="https://x.example" rel="noopener noreferrer nofollow"' in html


def test_links_lead_to_web_pages_and_addresses_only() -> None:
    for address in (
        "java&#10;script:alert(1)",
        "/settings",
        "//evil.example",
        "file:///etc/passwd",
    ):
        assert "href" not in markdown(f"[x]({address})")
    assert 'href="mailto:ana@x.example"' in markdown("[x](mailto:ana@x.example)")


def test_a_text_that_is_too_long_for_markdown_is_shown_as_it_is() -> None:
    html = markdown("*a* <b>" + "x" * LONGEST_MARKDOWN)
    assert html.startswith('<pre class="plain">*a* &lt;b&gt;x')


def test_text_from_right_to_left_stays_readable(site: Site) -> None:
    memory = site.remember("יש לנו פגישה ביום שלישי", AGENT)
    page = site.owner().get(f"/memories/{memory.id}").text
    assert "יש לנו פגישה ביום שלישי" in page
    assert site.app.memories.read(OWNER, memory.id).content in page
