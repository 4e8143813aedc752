"""Which spellings name one target."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.record.writing.targets import target_key


@pytest.mark.parametrize(
    "spelling",
    [
        *(
            "api auth",
            "api-auth",
            "API  Auth",
            "api_auth",
            "API - Auth",
            "Api\tAUTH",
            "API\u00a0Auth",
        ),
        *(" API Auth ", "\uff21\uff30\uff29 Auth", "API\u200b Auth", "API\n__auth"),
    ],
)
def test_spellings_of_one_target_agree(spelling: str) -> None:
    assert target_key(spelling) == target_key("API Auth")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Stra\u00dfe", "STRASSE"),
        ("caf\u00e9", "cafe\u0301"),
        ("\u212bngstr\u00f6m", "\u00c5NGSTR\u00d6M"),
    ],
)
def test_case_and_form_of_any_script_do_not_count(one: str, other: str) -> None:
    assert target_key(one) == target_key(other)


@pytest.mark.parametrize(
    "others", ["api", "apiauth", "api auth 2", "api.auth", "api/auth", "--api auth", "caf\u00e9"]
)
def test_what_is_named_otherwise_is_another_target(others: str) -> None:
    assert target_key(others) != target_key("API Auth")
    assert target_key("cafe") != target_key("caf\u00e9")


@given(st.text())
def test_a_key_is_its_own_key(target: str) -> None:
    assert target_key(target_key(target)) == target_key(target)
    assert target_key(target.upper()) == target_key(target.upper().lower())
