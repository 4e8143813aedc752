"""Where to listen, under which names, and from which pages."""

import pytest

from minutebook.features.http.requests.hosts import Address, AllowedHosts, parsed_address
from minutebook.record.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "address", "is_loopback"),
    [
        ("127.0.0.1:8765", Address("127.0.0.1", 8765), True),
        ("8765", Address("127.0.0.1", 8765), True),
        ("localhost:0", Address("localhost", 0), True),
        ("[::1]:80", Address("::1", 80), True),
        ("127.9.9.9:1", Address("127.9.9.9", 1), True),
        ("0.0.0.0:8765", Address("0.0.0.0", 8765), False),
        ("[::]:8765", Address("::", 8765), False),
        ("memory.example.com:443", Address("memory.example.com", 443), False),
    ],
)
def test_an_address_is_read_and_known_for_this_machines_own(
    text: str, address: Address, is_loopback: bool
) -> None:
    read = parsed_address(text)
    assert read == address
    assert read.is_loopback is is_loopback
    assert parsed_address(str(read)) == read


@pytest.mark.parametrize(
    "text",
    ["", "here", "127.0.0.1:", "127.0.0.1:99999", "h:x", "::1:80", "[::1]", "http://h:1", "h: 1"],
)
def test_what_is_no_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput, match="HOST:PORT"):
        parsed_address(text)


NAMES = AllowedHosts({"memory.example.com"}, {"https://app.example.com"}, is_loopback=True)
SHARED = AllowedHosts({"memory.example.com"}, {"https://app.example.com"}, is_loopback=False)


@pytest.mark.parametrize(
    ("host", "is_known"),
    [
        ("localhost", True),
        ("localhost:8765", True),
        ("LOCALHOST:1", True),
        ("127.0.0.1:8765", True),
        ("[::1]:8765", True),
        ("192.168.1.7", True),
        ("memory.example.com", True),
        ("Memory.Example.com:443", True),
        ("", False),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("evil.example#localhost", False),
        ("localhost@evil.example", False),
        ("[::1", False),
        ("evil.example@localhost", False),
    ],
)
def test_a_host_is_a_number_or_a_name_that_was_named(host: str, is_known: bool) -> None:
    assert NAMES.has_host(host) is is_known
    assert SHARED.has_host(host) is is_known


@pytest.mark.parametrize(
    ("origin", "host", "is_let_in"),
    [
        ("http://localhost:3000", "localhost:8765", False),
        ("http://localhost:8765", "localhost:8765", True),
        ("http://127.0.0.1:8765", "localhost:8765", False),
        ("http://127.0.0.1", "localhost:8765", False),
        ("https://app.example.com", "memory.example.com", True),
        ("https://memory.example.com", "memory.example.com", True),
        ("http://app.example.com", "memory.example.com", False),
        ("https://evil.example", "memory.example.com", False),
        ("null", "localhost", False),
        ("file://localhost", "localhost", False),
        ("", "localhost", False),
    ],
)
def test_an_origin_is_the_servers_own_or_one_that_was_named(
    origin: str, host: str, is_let_in: bool
) -> None:
    assert NAMES.has_origin(origin, host) is is_let_in
    assert SHARED.has_origin(origin, host) is is_let_in
