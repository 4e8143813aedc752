"""The provider at which people sign in: its settings, its configuration, its clients."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from minutebook.config import settings_with
from minutebook.features.sign_in.faults import ProviderError, ProviderFault
from minutebook.features.sign_in.openid import Provider, open_provider
from minutebook.features.sign_in.round_trips import RoundTrips
from minutebook.features.sign_in.signed_tokens import LEEWAY, open_issuer
from minutebook.record.errors import InvalidInput, KeysUnavailable, Unidentified
from tests.features.sign_in.openid_provider import CLIENT, SECRET, OpenIdProvider, provided

HOME = "https://memory.example"


@pytest.fixture(scope="module")
def serving() -> Iterator[OpenIdProvider]:
    with provided(f"{HOME}/signin/callback") as one:
        yield one


@pytest.fixture
def provider(serving: OpenIdProvider) -> OpenIdProvider:
    serving.reset()
    return serving


def opened(url: str, **changes: Any) -> Provider:
    settings = {
        "public_url": f"{HOME}/",
        "jwt_issuer": url,
        "jwt_audience": ("api",),
        "jwt_keys": f"{url}/keys",
        "oidc_client": CLIENT,
        "oidc_secret": SECRET,
        **changes,
    }
    found = settings_with(**settings)
    made = open_provider(found, open_issuer(found))
    assert made is not None
    return made


def signed_in(ours: Provider, provider: OpenIdProvider) -> Any:
    trip = RoundTrips().begin("/")
    url = ours.authorization_url(trip.state, trip.nonce, trip.challenge)
    query = parse_qs(urlsplit(provider.answered(url)).query)
    assert query["state"] == [trip.state]
    return ours.redeem(query["code"][0], trip.verifier, trip.nonce)


def test_a_client_shows_its_secret_as_the_provider_wants_it(provider: OpenIdProvider) -> None:
    assert signed_in(opened(provider.url), provider).caller.name == "ana"
    provider.configuration = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert signed_in(opened(provider.url), provider).caller.name == "ana"
    provider.configuration, provider.secret = {}, None
    assert signed_in(opened(provider.url, oidc_secret=None), provider).caller.name == "ana"
    with pytest.raises(ProviderError) as refused:
        signed_in(opened(provider.url), provider)
    assert refused.value.fault is ProviderFault.SETTINGS


def test_a_sign_in_lasts_as_the_id_token_says(provider: OpenIdProvider) -> None:
    assert 0 < signed_in(opened(provider.url), provider).lasts <= 300 + LEEWAY


def test_an_id_token_is_asked_for_and_a_query_of_the_address_stays(
    provider: OpenIdProvider,
) -> None:
    provider.configuration = {"authorization_endpoint": f"{provider.url}/authorize?tenant=a"}
    url = opened(provider.url).authorization_url("s", "n", "c")
    query = parse_qs(urlsplit(url).query)
    assert query["tenant"] == ["a"]
    assert query["scope"] == ["openid"]


@pytest.mark.parametrize(
    "configuration",
    [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"authorization_endpoint": None},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"token_endpoint": "http://login.example/token"},
        {"token_endpoint": "https://[/"},
        {"end_session_endpoint": ["https://login.example"]},
    ],
)
def test_a_configuration_that_does_not_fit_leads_nowhere(
    provider: OpenIdProvider, configuration: dict[str, Any]
) -> None:
    provider.configuration = configuration
    with pytest.raises(ProviderError) as refused:
        opened(provider.url).authorization_url("s", "n", "c")
    assert refused.value.fault is ProviderFault.DOWN


def test_the_configuration_is_read_once_for_many(provider: OpenIdProvider) -> None:
    ours = opened(provider.url)
    for _ in range(3):
        ours.authorization_url("s", "n", "c")
    assert provider.asked == ["configuration"]


def test_an_issuer_that_does_not_name_itself_may_and_must_be_right(
    provider: OpenIdProvider,
) -> None:
    provider.configuration = {"authorization_response_iss_parameter_supported": None}
    ours = opened(provider.url)
    ours.check_issuer(None)
    ours.check_issuer(provider.url)
    with pytest.raises(ProviderError):
        ours.check_issuer("https://evil.example")


def test_where_no_end_is_offered_signing_out_ends_here(provider: OpenIdProvider) -> None:
    url = opened(provider.url).sign_out_url("t")
    assert url is not None
    expected = {
        "client_id": CLIENT,
        "id_token_hint": "t",
        "post_logout_redirect_uri": f"{HOME}/signin",
    }
    assert url == f"{provider.url}/end?{urlencode(expected)}"
    provider.configuration = {"end_session_endpoint": None}
    assert opened(provider.url).sign_out_url("t") is None


def test_keys_that_changed_are_read_again_and_keys_that_fail_are_said(
    provider: OpenIdProvider,
) -> None:
    provider.keys = b"{}"
    with pytest.raises(KeysUnavailable):
        signed_in(opened(provider.url), provider)
    provider.reset()
    provider.kid = "new"
    with pytest.raises(Unidentified, match="does not show"):
        signed_in(opened(provider.url), provider)


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"jwt_issuer": None}, "jwt_issuer"),
        ({"jwt_issuer": "http://login.example"}, "jwt_issuer"),
        ({"public_url": None}, "public_url"),
        ({"public_url": "http://memory.example"}, "public_url"),
    ],
)
def test_half_a_setting_of_the_sign_in_is_refused(changes: dict[str, Any], argument: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        opened("https://login.example", **changes)
    assert refused.value.argument == argument


def test_without_a_client_there_is_no_provider() -> None:
    assert open_provider(settings_with(), None) is None
