"""Who gets in, with which cookie, and what a form must bring."""

from pathlib import Path

import pytest

from minutebook.features.pages.frame.register import views
from minutebook.features.pages.frame.sign_ins import IDLE, LINK_LASTS, LONGEST, MOST, SignIns
from minutebook.record.records import Role
from tests.examples import parametrize_in_part
from tests.features.pages.site import BASE, OWNER, Site, site_on

PAGES = [
    path.replace("{id}", "0" * 20).replace("{act}", "edit")
    for each in views()
    for method, path in each
    if method == "GET"
]


def test_no_page_shows_without_a_sign_in(site: Site) -> None:
    for path in PAGES:
        answer = site.browser().get(path)
        assert answer.status_code == 303, path
        assert answer.headers["location"].startswith("/signin"), path


def test_a_sign_in_goes_on_to_the_page_that_was_asked_for(site: Site) -> None:
    memory = site.remember("Tea at five")
    browser = site.browser()
    form = browser.followed(browser.get(f"/memories/{memory.id}?x=1"))
    assert f'name="next" value="/memories/{memory.id}?x=1"' in form.text
    answer = browser.post("/signin", token=site.token(), next=f"/memories/{memory.id}?x=1")
    assert answer.headers["location"] == f"/memories/{memory.id}?x=1"
    assert "Tea at five" in browser.followed(answer).text


@pytest.mark.parametrize(
    "next",
    [
        *("https://evil.example/", "//evil.example", "///evil.example", "////evil.example"),
        *("/\\evil.example", "/\t/evil.example", "\\\\evil.example", "x", "javascript:alert(1)"),
    ],
)
def test_a_sign_in_leads_nowhere_else(site: Site, next: str) -> None:
    browser = site.browser()
    browser.get("/signin")
    answer = browser.post("/signin", token=site.token(), next=next)
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize("token", ["", "mbk_nonsense", "mbk_" + "0" * 63, "ä", "a b"])
def test_a_token_that_is_none_is_refused_in_words_and_signs_nobody_in(
    site: Site, token: str
) -> None:
    browser = site.browser()
    browser.get("/signin")
    answer = browser.post("/signin", token=token)
    assert answer.status_code == 401
    assert 'role="alert"' in answer.text
    assert browser.get("/find").status_code == 303
    assert token not in answer.text or not token


def test_the_cookie_is_kept_from_script_and_other_sites(site: Site, tmp_path: Path) -> None:
    browser = site.browser()
    cookie = browser.get(f"/enter?key={site.sign_ins.link()}").headers["set-cookie"]
    assert cookie.startswith("minutebook-8765=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Secure" not in cookie
    with site_on(tmp_path / "public", public_url="https://minutebook.example") as public:
        browser = public.browser()
        cookie = browser.get(f"/enter?key={public.sign_ins.link()}").headers["set-cookie"]
    assert cookie.startswith("__Host-minutebook=")
    assert "Secure" in cookie
    assert "Path=/" in cookie


def test_a_link_lets_in_once(site: Site) -> None:
    link = f"/enter?key={site.sign_ins.link()}"
    assert site.browser().get(link).headers["location"] == "/"
    again = site.browser().get(link)
    assert again.status_code == 403
    assert "set-cookie" not in again.headers
    assert "used already" in again.text


def test_a_link_ends_and_is_no_ones_without_an_owner() -> None:
    now = [0.0]
    ours = SignIns(OWNER, lambda: now[0])
    key = ours.link()
    now[0] += LINK_LASTS
    assert not ours.redeem(key)
    nobodys = SignIns(None)
    assert not nobodys.redeem(nobodys.link())


def test_a_sign_in_ends_when_it_is_not_used_and_at_the_latest_after_a_week() -> None:
    now = [0.0]
    sign_ins = SignIns(OWNER, lambda: now[0])
    secret = sign_ins.begin(OWNER)
    now[0] += IDLE
    assert sign_ins.find(secret) is not None
    now[0] += IDLE + 1
    assert sign_ins.find(secret) is None
    secret = sign_ins.begin(OWNER)
    for _ in range(int(LONGEST / IDLE)):
        assert sign_ins.find(secret) is not None
        now[0] += IDLE
    now[0] += 1
    assert sign_ins.find(secret) is None


def test_the_browser_unused_for_longest_makes_room() -> None:
    now = [0.0]
    sign_ins = SignIns(OWNER, lambda: now[0])
    first, second = sign_ins.begin(OWNER), sign_ins.begin(OWNER)
    now[0] = 1.0
    sign_ins.find(first)
    for _ in range(MOST - 1):
        sign_ins.begin(OWNER)
    assert sign_ins.find(second) is None
    assert sign_ins.find(first) is not None


def test_signing_out_ends_the_session_on_the_server(site: Site) -> None:
    browser = site.owner()
    cookies = dict(browser.http.cookies)
    assert browser.post("/signout").headers["location"] == "/signin"
    browser.http.cookies.update(cookies)
    assert browser.get("/find").status_code == 303


def test_a_revoked_token_is_heard_by_the_next_request(site: Site) -> None:
    browser = site.bearer()
    assert browser.get("/find").status_code == 200
    (token,) = site.app.tokens.list(OWNER)
    site.app.tokens.revoke(OWNER, token.id)
    assert browser.get("/").headers["location"] == "/signin"


FORMS = [
    *("/signout", "/memories/{id}/verify", "/memories/{id}/forget"),
    pytest.param("/review", marks=pytest.mark.needs("tidying")),
]


@pytest.mark.parametrize("path", FORMS)
@parametrize_in_part(
    "forged",
    [
        {"csrf": "x"},
        {"csrf": ""},
        {"headers": {"origin": "http://127.0.0.1:9999"}},
        {"headers": {"origin": "null"}},
        {"headers": {"sec-fetch-site": "cross-site"}},
        {"headers": {"sec-fetch-site": "same-site"}},
    ],
    every=2,
)
def test_a_form_of_another_page_changes_nothing(
    site: Site, path: str, forged: dict[str, str]
) -> None:
    memory = site.remember("Tea at five")
    browser = site.owner()
    answer = browser.post(path.format(id=memory.id), **{"sure": "yes", **forged})
    assert answer.status_code == 403
    assert browser.get("/find").status_code == 200
    assert site.app.memories.read(OWNER, memory.id) == memory


def test_the_key_of_another_persons_form_is_refused(site: Site) -> None:
    memory = site.remember("Tea at five")
    one, other = site.owner(), site.bearer()
    one.csrf = other.csrf
    assert one.post(f"/memories/{memory.id}/verify").status_code == 403


def test_a_sign_in_form_needs_the_cookie_that_came_with_it(site: Site) -> None:
    token = site.token()
    browser = site.browser()
    browser.get("/signin")
    stranger = site.browser()
    stranger.csrf = browser.csrf
    assert stranger.post("/signin", token=token).status_code == 403
    headers = {"sec-fetch-site": "cross-site"}
    assert browser.post("/signin", headers=headers, token=token).status_code == 403


def test_a_link_from_another_site_is_looked_at_again_with_its_cookie(site: Site) -> None:
    memory = site.remember("Tea at five")
    answer = site.browser().get(f"/memories/{memory.id}", sec_fetch_site="cross-site")
    assert answer.status_code == 200
    assert f'content="0;url=/memories/{memory.id}"' in answer.text
    assert "Tea" not in answer.text


def test_script_is_told_to_sign_in_where_the_session_has_ended(site: Site) -> None:
    answer = site.browser().get("/find?q=x", hx_request="true")
    assert answer.status_code == 401
    assert answer.headers["hx-redirect"] == "/signin"


@pytest.mark.parametrize(
    ("body", "type", "status"),
    [
        (b"csrf=1", "text/plain", 415),
        (b"a=" + b"x" * 5_000_000, "application/x-www-form-urlencoded", 413),
        (b"\xff\xfe", "application/x-www-form-urlencoded", 400),
        (b"&".join(b"a=1" for _ in range(100)), "application/x-www-form-urlencoded", 400),
    ],
)
def test_what_is_no_form_is_refused(site: Site, body: bytes, type: str, status: int) -> None:
    memory = site.remember("Tea at five")
    headers = {"content-type": type, "origin": BASE}
    path = f"/memories/{memory.id}/verify"
    assert site.owner().http.post(path, content=body, headers=headers).status_code == status
    assert site.browser().http.post("/signin", content=body, headers=headers).status_code == status


def test_every_page_is_sent_with_a_strict_policy(site: Site) -> None:
    browser = site.owner()
    for path in ("/", "/signin", "/nothing/here", "/enter?key=x"):
        answer = browser.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_unknown_paths_are_a_page_for_people_and_json_for_programs(site: Site) -> None:
    browser = site.owner()
    page = browser.get("/nothing/here")
    assert page.status_code == 404
    assert "<h1>" in page.text
    plain = browser.http.get("/nothing/here", headers={"accept": "application/json"})
    assert plain.status_code == 404
    assert plain.json()["error"] == "Not Found"
    assert browser.post("/").status_code == 405


def test_files_are_served_under_their_digest_and_nothing_else_is(site: Site) -> None:
    browser = site.browser()
    page = browser.get("/signin").text
    style = page.split('rel="stylesheet" href="')[1].split('"')[0]
    answer = browser.http.get(style)
    assert answer.status_code == 200
    assert answer.headers["content-encoding"] == "gzip"
    assert "immutable" in answer.headers["cache-control"]
    assert answer.text.startswith(":root")
    plain = browser.http.get(style, headers={"accept-encoding": "identity"})
    assert plain.text == answer.text
    for path in ("/static/x/style.css", "/static/0/README.md", "/static/0/..%2fpages.py"):
        assert browser.http.get(path).status_code == 404


def test_a_rate_limit_holds_for_pages_too(tmp_path: Path) -> None:
    with site_on(tmp_path / "limited", rate_limit=0.2) as limited:
        browser = limited.bearer()
        codes = [browser.get("/find").status_code for _ in range(4)]
    assert 429 in codes


def test_a_viewer_sees_and_may_not(site: Site) -> None:
    memory = site.remember("Tea at five")
    browser = site.bearer(Role.VIEWER)
    assert "Tea at five" in browser.get(f"/memories/{memory.id}").text
    answer = browser.post(f"/memories/{memory.id}/verify")
    assert answer.status_code == 403
    assert "the role viewer may only read" in answer.text
