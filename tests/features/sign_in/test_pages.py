"""People who sign in at an OpenID provider, and every answer that must let nobody in."""

import re
from collections.abc import Iterator
from html import unescape
from time import time
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import httpx2
import pytest
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse

from minutebook.features.pages.frame.sign_ins import LONGEST, SignIns
from minutebook.features.sign_in.faults import ProviderError, ProviderFault
from minutebook.features.sign_in.round_trips import LASTS, RoundTrips
from minutebook.record.records import SYSTEM_ORGANIZATION, Role, Token
from tests.features.pages.site import OWNER, Browser, Site, site_on
from tests.features.sign_in.issuing import EC, OTHER_RSA
from tests.features.sign_in.openid_provider import CLIENT, SECRET, OpenIdProvider, provided

thorough = pytest.mark.thorough

PUBLIC = "https://minutebook.example"
COOKIE = "__Host-minutebook"


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, OpenIdProvider]]:
    with provided(f"{PUBLIC}/signin/callback") as provider:
        home = tmp_path_factory.mktemp("pages")
        with site_on(home, **settings_for(provider)) as site:
            yield site, provider


def settings_for(provider: OpenIdProvider) -> dict[str, Any]:
    return {
        "public_url": PUBLIC,
        "jwt_issuer": provider.url,
        "jwt_audience": ("api",),
        "jwt_keys": f"{provider.url}/keys",
        "oidc_client": CLIENT,
        "oidc_secret": SECRET,
    }


@pytest.fixture
def provider(serving: tuple[Site, OpenIdProvider]) -> OpenIdProvider:
    serving[1].reset()
    return serving[1]


@pytest.fixture
def site(serving: tuple[Site, OpenIdProvider], provider: OpenIdProvider) -> Site:
    return serving[0]


def set_out(browser: Browser, next: str = "/health") -> str:
    """Begin a sign-in; return where the provider is asked."""
    answer = browser.get(f"/signin/provider?{urlencode({'next': next})}")
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def come_back(browser: Browser, url: str, **changes: str | None) -> httpx2.Response:
    """Follow the provider's answer, as another made it of it."""
    query = {**dict(parse_qsl(urlsplit(url).query)), **changes}
    fields = {name: value for name, value in query.items() if value is not None}
    return browser.get(f"/signin/callback?{urlencode(fields)}", sec_fetch_site="cross-site")


def is_signed_in(browser: Browser) -> bool:
    return browser.get("/settings").status_code == 200


def refused(answer: httpx2.Response, browser: Browser, status: int) -> str:
    """Check that an answer is a page of that status, and that it let nobody in; return its text."""
    assert answer.status_code == status, answer.text
    assert 'role="alert"' in answer.text
    assert not any(each.startswith(f"{COOKIE}=") for each in answer.headers.get_list("set-cookie"))
    assert not is_signed_in(browser)
    return unescape(re.sub("<[^>]+>", " ", answer.text))


def test_a_person_signs_in_with_the_rights_that_the_claims_give(
    site: Site, provider: OpenIdProvider
) -> None:
    provider.claims = {"minutebook_role": "manager", "minutebook_repositories": ["api"]}
    browser = site.browser()
    form = browser.get("/signin?next=/health").text
    found = re.search('href="(/signin/provider[^"]*)"', form)
    assert found is not None
    asked = browser.get(unescape(found[1]))
    answer = come_back(browser, provider.answered(asked.headers["location"]))
    assert answer.status_code == 200
    assert 'content="0;url=/health"' in answer.text
    assert browser.get("/health").status_code == 200
    page = browser.get("/settings").text
    assert "ana" in page
    assert "manager" in page
    assert "api" in page


def test_the_cookies_are_bound_to_this_server_and_end_with_the_way(
    site: Site, provider: OpenIdProvider
) -> None:
    browser = site.browser()
    answer = browser.get("/signin/provider")
    asked, cookie = answer.headers["location"], answer.headers["set-cookie"]
    for part in (f"{COOKIE}-round-trip=", "Secure", "HttpOnly", "SameSite=lax", "Path=/"):
        assert part in cookie
    assert "Max-Age=600" in cookie
    query = parse_qs(urlsplit(asked).query)
    assert query["redirect_uri"] == [f"{PUBLIC}/signin/callback"]
    # The verifier goes to the provider by no browser.
    assert "code_verifier" not in query
    first, second = come_back(browser, provider.answered(asked)).headers.get_list("set-cookie")
    assert "SameSite=strict" in first
    assert first.startswith(f"{COOKIE}=")
    assert f'{COOKIE}-round-trip=""' in second
    assert "Max-Age=0" in second


def test_each_way_has_a_state_a_nonce_and_a_challenge_of_its_own(site: Site) -> None:
    ways = [parse_qs(urlsplit(set_out(site.browser())).query) for _ in range(3)]
    for name in ("state", "nonce", "code_challenge"):
        assert len({way[name][0] for way in ways}) == 3
    assert all(len({way[n][0] for n in ("state", "nonce", "code_challenge")}) == 3 for way in ways)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param({"state": "x" * 43}, "this browser began last", id="another state"),
        pytest.param({"state": None}, "this browser began last", id="no state"),
        pytest.param({"state": "ä\x00"}, "this browser began last", id="a state that is no text"),
        pytest.param({"iss": "https://evil.example"}, "does not come from", id="mixed up"),
        pytest.param({"iss": None}, "does not come from", id="no issuer where it names itself"),
        pytest.param({"code": "guessed"}, "used already", id="a code that nobody gave"),
        pytest.param({"code": None}, "used already", id="no code"),
        pytest.param({"code": "x" * 5000}, "used already", id="a code without end"),
    ],
)
def test_an_answer_that_was_forged_lets_nobody_in(
    site: Site, provider: OpenIdProvider, changes: dict[str, str | None], said: str
) -> None:
    browser = site.browser()
    url = provider.answered(set_out(browser))
    assert said in refused(come_back(browser, url, **changes), browser, 400)


def test_an_answer_is_taken_once(site: Site, provider: OpenIdProvider) -> None:
    browser = site.browser()
    url = provider.answered(set_out(browser))
    cookies = dict(browser.http.cookies)
    assert come_back(browser, url).status_code == 200
    thief = site.browser()
    thief.http.cookies.update(cookies)
    provider.asked.clear()
    assert "used already" in refused(come_back(thief, url), thief, 400)
    assert provider.asked == []
    assert is_signed_in(browser)


def test_the_answer_to_another_browser_signs_nobody_in(
    site: Site, provider: OpenIdProvider
) -> None:
    """Neither the thief of an answer nor whom an attacker gives theirs (login CSRF, fixation)."""
    victim, attacker = site.browser(), site.browser()
    url = provider.answered(set_out(attacker))
    refused(come_back(victim, url), victim, 400)
    set_out(victim)
    refused(come_back(victim, url), victim, 400)


def test_a_code_of_another_way_is_refused_by_the_provider(
    site: Site, provider: OpenIdProvider
) -> None:
    """Code injection: the state is the victim's own, the code the attacker's."""
    victim, attacker = site.browser(), site.browser()
    code = parse_qs(urlsplit(provider.answered(set_out(attacker))).query)["code"][0]
    url = provider.answered(set_out(victim))
    assert "used already" in refused(come_back(victim, url, code=code), victim, 400)


def test_a_session_that_somebody_set_before_is_not_the_one_after(
    site: Site, provider: OpenIdProvider
) -> None:
    browser, attacker = site.browser(), site.owner()
    fixed = attacker.http.cookies[COOKIE]
    browser.http.cookies.set(COOKIE, fixed)
    come_back(browser, provider.answered(set_out(browser)))
    assert fixed not in [each.value for each in browser.http.cookies.jar if each.domain]
    # What the browser had before has ended.
    assert not is_signed_in(attacker)


OTHER = "https://other.example"


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"iss": OTHER}, "issuer"),
        ({"aud": OTHER}, "Audience"),
        ({"azp": OTHER}, "another client"),
        ({"nonce": "another"}, "another sign-in"),
        ({"nonce": None}, "nonce"),
        ({"exp": 1}, "clock"),
        pytest.param({"aud": "api"}, "Audience", marks=thorough),
        pytest.param({"aud": None}, "aud", marks=thorough),
        pytest.param({"aud": [CLIENT, OTHER]}, "another client", marks=thorough),
        pytest.param({"aud": [CLIENT, OTHER], "azp": OTHER}, "another client", marks=thorough),
        pytest.param({"nonce": 7}, "nonce", marks=thorough),
        pytest.param({"iat": None}, "iat", marks=thorough),
        pytest.param({"exp": None}, "exp", marks=thorough),
        pytest.param({"iat": int(time()) + 9999}, "clock", marks=thorough),
        pytest.param({"nbf": int(time()) + 9999}, "clock", marks=thorough),
        pytest.param({"sub": None}, "sub", marks=thorough),
        pytest.param({"sub": "agent"}, "anybody", marks=thorough),
        pytest.param({"minutebook_role": "root"}, "minutebook_role", marks=thorough),
        pytest.param(
            {"minutebook_organization": SYSTEM_ORGANIZATION}, "organization", marks=thorough
        ),
    ],
)
def test_an_id_token_whose_claims_do_not_hold_lets_nobody_in(
    site: Site, provider: OpenIdProvider, claims: dict[str, Any], said: str
) -> None:
    provider.claims = claims
    browser = site.browser()
    answer = come_back(browser, provider.answered(set_out(browser)))
    assert said in refused(answer, browser, 401)


@pytest.mark.parametrize(
    ("key", "algorithm", "kid"),
    [
        pytest.param(None, "none", "r", id="no signature"),
        pytest.param("k" * 64, "HS256", "r", id="a shared secret"),
        pytest.param(SECRET * 4, "HS256", "r", id="the client's secret", marks=thorough),
        pytest.param(OTHER_RSA, "RS256", "r", id="another key"),
        pytest.param(OTHER_RSA, "RS256", "unknown", id="a key nobody shows", marks=thorough),
        pytest.param(EC, "ES256", "r", id="another key's algorithm", marks=thorough),
    ],
)
def test_an_id_token_that_the_provider_did_not_sign_lets_nobody_in(
    site: Site, provider: OpenIdProvider, key: Any, algorithm: str, kid: str
) -> None:
    provider.key, provider.algorithm, provider.kid = key, algorithm, kid
    browser = site.browser()
    refused(come_back(browser, provider.answered(set_out(browser))), browser, 401)


def test_a_refused_id_token_is_on_the_trail_and_its_secrets_are_nowhere(
    site: Site, provider: OpenIdProvider, caplog: pytest.LogCaptureFixture
) -> None:
    provider.claims = {"aud": "somebody-else"}
    browser = site.browser()
    url = provider.answered(set_out(browser))
    answer = come_back(browser, url)
    entries = [e for e in site.app.trail.entries(OWNER) if e.act == "enter"]
    assert "InvalidAudienceError" in {entry.outcome for entry in entries}
    code = parse_qs(urlsplit(url).query)["code"][0]
    for text in (answer.text, caplog.text, repr(entries)):
        assert code not in text
        assert SECRET not in text


def test_who_is_declined_reads_why_and_nothing_of_it_is_markup(
    site: Site, provider: OpenIdProvider
) -> None:
    provider.denies = True
    browser = site.browser()
    answer = come_back(browser, provider.answered(set_out(browser)))
    assert "<b>not" not in answer.text
    assert "access_denied: <b>not you</b>" in unescape(answer.text)
    refused(answer, browser, 403)


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        (JSONResponse({"error": "invalid_client"}, 401), 502, "oidc_secret"),
        (RedirectResponse("https://evil.example"), 502, "does not answer"),
        *(
            pytest.param(answer, status, said, marks=thorough)
            for answer, status, said in (
                (JSONResponse({"error": "server_error"}, 500), 502, "does not answer"),
                (PlainTextResponse("x" * 300_000), 502, "does not answer"),
                (PlainTextResponse("[" * 100_000), 502, "does not answer"),
                (JSONResponse({"access_token": "x"}), 502, "does not answer"),
                (JSONResponse({"id_token": 7}), 502, "does not answer"),
                (JSONResponse({"id_token": "no.such.token"}), 401, "does not hold"),
            )
        ),
    ],
)
def test_a_provider_that_fails_is_said_on_a_page(
    site: Site, provider: OpenIdProvider, answer: Any, status: int, said: str
) -> None:
    browser = site.browser()
    url = provider.answered(set_out(browser))
    provider.answer = answer
    assert said in refused(come_back(browser, url), browser, status)


@pytest.mark.parametrize(
    "next",
    ["//evil.example", "///evil.example", "/\\evil.example", "/find?q=evil" + "x" * 2000],
)
def test_a_sign_in_at_the_provider_leads_to_no_other_site(
    site: Site, provider: OpenIdProvider, next: str
) -> None:
    browser = site.browser()
    answer = come_back(browser, provider.answered(set_out(browser, next)))
    assert 'content="0;url=/"' in answer.text
    assert "evil" not in answer.text


def test_signing_out_ends_the_session_here_and_leads_to_the_providers_end(
    site: Site, provider: OpenIdProvider
) -> None:
    browser = site.browser()
    come_back(browser, provider.answered(set_out(browser)))
    cookies = dict(browser.http.cookies)
    browser.get("/settings")
    page = browser.post("/signout", headers={"origin": PUBLIC}).text
    found = re.search(r'content="0;url=([^"]+)"', page)
    assert found is not None
    back = provider.http.get(unescape(found[1]))
    assert back.headers["location"] == f"{PUBLIC}/signin"
    assert provider.asked[-1] == "end"
    browser.http.cookies.update(cookies)
    assert not is_signed_in(browser)


def test_a_token_signs_in_beside_the_provider(site: Site) -> None:
    browser = site.browser()
    browser.get("/signin")
    token = site.token(Role.HUMAN)
    answer = browser.post("/signin", headers={"origin": PUBLIC}, token=token)
    assert answer.status_code == 303
    assert is_signed_in(browser)


def test_an_id_token_is_no_token_of_the_contracts(site: Site, provider: OpenIdProvider) -> None:
    browser = site.browser()
    browser.get("/signin")
    answer = browser.post("/signin", headers={"origin": PUBLIC}, token=provider.signed("n"))
    assert answer.status_code == 401


def test_without_a_provider_there_is_no_way_to_one(tmp_path: Any) -> None:
    with site_on(tmp_path / "plain", public_url=PUBLIC) as plain:
        browser = plain.browser()
        assert "/signin/provider" not in browser.get("/signin").text
        assert browser.get("/signin/provider").status_code == 404
        assert browser.get("/signin/callback?code=x&state=y").status_code == 404


def test_a_provider_that_is_down_leaves_the_token(tmp_path: Any) -> None:
    with provided() as gone:
        pass
    with site_on(tmp_path / "alone", **settings_for(gone)) as alone:
        browser = alone.browser()
        assert "/signin/provider" in browser.get("/signin").text
        answer = browser.get("/signin/provider")
        assert answer.status_code == 502
        assert "sign in with a token" in answer.text
        token = alone.token(Role.HUMAN)
        browser.get("/signin")
        assert browser.post("/signin", headers={"origin": PUBLIC}, token=token).status_code == 303


def test_a_sign_in_ends_when_it_is_said_to() -> None:
    now = [0.0]
    sign_ins = SignIns(OWNER, lambda: now[0])
    secret = sign_ins.begin(OWNER, 100.0)
    now[0] = 100.0
    assert sign_ins.find(secret) is not None
    now[0] = 101.0
    assert sign_ins.find(secret) is None
    longest = sign_ins.begin(OWNER, 10 * LONGEST)
    found = sign_ins.peek(longest)
    assert found is not None
    assert found.ends == 101.0 + LONGEST


def fault_of(trips: RoundTrips, cookie: str, state: str) -> ProviderFault:
    with pytest.raises(ProviderError) as error:
        trips.finish(cookie, state)
    return error.value.fault


def test_a_way_ends_after_ten_minutes_and_is_known_to_have_been_used() -> None:
    now = [0.0]
    trips = RoundTrips(lambda: now[0], most_used=2)
    late, trip = trips.begin("/a"), trips.begin("/b?c=ä")
    assert trips.finish(trip.cookie, trip.state) == trip
    assert fault_of(trips, trip.cookie, trip.state) is ProviderFault.CODE
    now[0] = LASTS + 1
    assert fault_of(trips, late.cookie, late.state) is ProviderFault.LATE
    last, *later = (trips.begin("/") for _ in range(3))
    for each in (last, *later):
        trips.finish(each.cookie, each.state)
    # Of those that were used it knows the last: the provider knows its codes.
    assert trips.finish(last.cookie, last.state) == last


@pytest.mark.parametrize(
    "cookie", ["", ".", "x", "x.y", "{body}.", "{body}.{body}", "{body}x.{seal}"]
)
def test_a_cookie_that_was_changed_is_none(cookie: str) -> None:
    trips = RoundTrips()
    trip = trips.begin("/")
    body, _, seal = trip.cookie.partition(".")
    forged = cookie.format(body=body, seal=seal)
    assert fault_of(trips, forged, trip.state) is ProviderFault.STATE
    # Another process has another key.
    assert fault_of(RoundTrips(), trip.cookie, trip.state) is ProviderFault.STATE


def test_revoking_the_tokens_of_a_name_ends_its_sign_ins(
    site: Site, provider: OpenIdProvider
) -> None:
    browser = site.browser()
    come_back(browser, provider.answered(set_out(browser)))
    assert is_signed_in(browser)
    noted = site.app.tokens.revoke_signed(OWNER, "ana")
    try:
        assert not is_signed_in(browser)
    finally:
        # The other tests of this site sign in as the same person.
        site.app.infrastructure.store.delete(Token, SYSTEM_ORGANIZATION, noted.id)
