"""Finding secrets: each kind in what people write, and nothing of what only resembles one."""

import re
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.secret_samples import drawn, filled, private_key, token
from minutebook.memory.screening.contexts import CONTEXTS
from minutebook.memory.screening.formats import FORMATS, expression
from minutebook.memory.screening.secrets import KINDS, find, mask, masked, shortened

SETTINGS = (
    "We call the service with {} from the worker.",
    "export KEY={}\nexport OTHER=1\n",
    '{{"auth": "{}", "retries": 3}}',
    "2026-01-06T12:00:00Z INFO connecting, key='{}'; attempt 1",
)


def test_there_are_many_kinds_each_documented() -> None:
    assert len(set(KINDS)) == len(KINDS) >= 100
    addresses = [*(each.address for each in FORMATS), *(each.address for each in CONTEXTS)]
    assert all(each.startswith(("https://", "docs/guides/")) for each in addresses)


def test_a_token_of_each_format_is_found_and_nothing_else_of_its_text() -> None:
    random = Random(1)
    for format, start in ((each, start) for each in FORMATS for start in each.starts):
        made = token(format, start, random)
        for setting in SETTINGS:
            text = setting.format(made)
            found = find(text)
            assert [text[each.start : each.end] for each in found] == [made], text
            assert found[0].kind == format.kind
            assert found[0].is_proven is (format.check is not None)
            hidden = mask(text, found)
            assert hidden == setting.format(f"[secret: {format.kind}]")
            assert find(hidden) == []


@pytest.mark.parametrize(
    ("template", "kind"),
    [
        ("postgresql://ana:{{<A:12>}}@db.internal:5432/shop", "password in a URL"),
        ("Authorization: Bearer {{<A:40>}}", "authorization header"),
        ("curl -u ana:{{<A:14>}} https://api.internal/x", "password on a command line"),
        ("machine host login ana password {{<A:14>}}", "netrc password"),
        ("DB_PASSWORD={{<A:14>}}", "password or key"),
        ('api_key: "{{<A:32>}}"', "password or key"),
        ("client_secret = '{{<W:40>}}'", "password or key"),
        ("Das Passwort ist `{{<A:12>}}`.", "password or key"),
        ("aws_secret_access_key = {{<B:40>}}", "AWS secret key"),
        ("https://x.blob.core.windows.net/c/b?sv=2024&sig={{<A:43>}}%3D", "Azure SAS signature"),
        ("key:\n{{private key}}\nend", "private key"),
    ],
)
def test_a_secret_is_found_by_what_stands_around_it(template: str, kind: str) -> None:
    for seed in range(20):
        text, (secret,) = filled(template, Random(seed))
        found = find(text)
        assert [each.kind for each in found] == [kind], text
        assert secret.strip("+/=") in text[found[0].start : found[0].end]
        assert secret not in mask(text, found)


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "api_key = os.environ['API_KEY']",
        "password = settings.database_password",
        "password: required",
        "The password is kept as argon2id.",
        "max_tokens=4096, stop_token='</s>'",
        "token: string; secret?: string",
        "ghp_" + "x" * 36,
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "id 550e8400-e29b-41d4-a716-446655440000",
        '"integrity": "sha512-' + "Zm9vYmFyYmF6" * 7 + '=="',
        "postgres://user:${DB_PASSWORD}@db/x and redis://localhost:6379/0",
        "Authorization: Bearer <token>",
        "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-a1B2c3",
        "secretName: shop-credentials-v2",
        "next_page_token: eyJvZmZzZXQiOjEwMH0",
        "password_hash: $2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW",
        "[secret: GitHub token]",
        "password = [secret: password or key]",
    ],
)
def test_what_only_resembles_a_secret_is_left(text: str) -> None:
    assert find(text) == []


def test_wrong_check_digits_are_told_from_right_ones() -> None:
    github = next(each for each in FORMATS if each.kind == "GitHub token")
    made = token(github, github.starts[0], Random(1))
    wrong = made[:-1] + ("a" if made[-1] != "a" else "b")
    assert [each.is_proven for each in find(f"{made} {wrong}")] == [True, False]


def test_little_of_a_secret_is_shown() -> None:
    made = "glpat-" + drawn("<A:20>", Random(1))
    (found,) = find(made)
    assert shortened(made, found) == "glpa… (26 characters)"
    text = "password='hun7er'"
    assert shortened(text, find(text)[0]) == "… (6 characters)"


@settings(max_examples=100)
@given(
    st.lists(
        st.sampled_from(["ghp_", "eyJ", " is ", "password", "=", ":", "://", "@", "\n"])
        | st.text(max_size=12)
    )
)
def test_secrets_lie_apart_and_masking_leaves_the_rest(pieces: list[str]) -> None:
    text = "".join(pieces) + "\u0130 password=" + drawn("<A:20>", Random(len(pieces)))
    found = find(text)
    assert found
    ends = [0, *(end for each in found for end in (each.start, each.end)), len(text)]
    assert ends == sorted(ends)
    hidden = masked(text)
    assert hidden.startswith(f"{text[: found[0].start]}[secret: ")
    assert hidden.endswith(f"]{text[found[-1].end :]}")


def test_no_expression_can_run_away() -> None:
    expressions = [each.expression for each in CONTEXTS]
    expressions += [
        expression(body).pattern for each in FORMATS for body in (each.before, each.body)
    ]
    parser: Any = vars(re)["_parser"]
    for pattern in expressions:
        _check_bounded(parser.parse(pattern), inside=False)


def _check_bounded(tree: Any, *, inside: bool) -> None:
    """Check that no repetition is without end, nor a long one stands in another."""
    for name, argument in tree:
        parts = argument if isinstance(argument, list | tuple) else ()
        is_long = str(name) in {"MAX_REPEAT", "MIN_REPEAT"} and argument[1] > 1
        if is_long:
            assert argument[1] < 50_000, "a repetition without end"
            assert not inside, "a repetition in a repetition"
        for part in parts:
            for each in part if isinstance(part, list) else [part]:
                if hasattr(each, "getwidth"):
                    _check_bounded(each, inside=inside or is_long)


@pytest.mark.parametrize(
    "piece", ["eyJ", "ghp_", "password=", "://a:", "-us1", "bearer ", "-----BEGIN PRIVATE KEY-----"]
)
def test_text_made_to_be_slow_is_read_to_its_end(piece: str) -> None:
    text = piece * (20_000 // len(piece)) + " glpat-" + drawn("<A:20>", Random(1))
    assert any(each.kind == "GitLab personal access token" for each in find(text))
    assert private_key(Random(1)) not in text


@pytest.mark.parametrize(
    "template",
    [
        "\x1b[31m{}\x1b[0m is red",
        "DB_PASSWORD\u200b={}",
        "PASS\u00adWORD={}",
        "password\ufeff: {}",
    ],
)
def test_characters_that_nobody_sees_hide_no_secret(template: str) -> None:
    github = next(each for each in FORMATS if each.kind == "GitHub token")
    made = token(github, github.starts[0], Random(1))
    for secret in (made, "\u200b".join((made[:9], made[9:]))):
        text = template.format(secret)
        assert secret not in mask(text, find(text)), ascii(text)


@pytest.mark.parametrize(
    "template", ["[model PASSWORD={}]", "login(password={})", "{{password: {}}}"]
)
def test_a_bracket_that_closes_behind_a_secret_does_not_hide_it(template: str) -> None:
    text, (secret,) = filled(template.format("{{<A:14>}}").replace("{{p", "{p"), Random(1))
    assert secret not in mask(text, find(text)), text
