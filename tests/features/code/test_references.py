"""Possible citations in a text: paths, lines, names."""

import pytest

from minutebook.features.code.references import Reference, references_in


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See src/pay.py.", [Reference("src/pay.py", "src/pay.py")]),
        ("./src/pay.py:12", [Reference("./src/pay.py:12", "src/pay.py", (12, 12))]),
        ("src/pay.py:12-20", [Reference("src/pay.py:12-20", "src/pay.py", (12, 20))]),
        ("src/pay.ts#L12-L20", [Reference("src/pay.ts#L12-L20", "src/pay.ts", (12, 20))]),
        ("pay.py:20-12", [Reference("pay.py:20-12", "pay.py", (20, 20))]),
        (
            "src/pay.py:Order.total rounds",
            [Reference("src/pay.py:Order.total", "src/pay.py", None, ("Order", "total"))],
        ),
        ("`total` rounds", [Reference("total", symbol=("total",))]),
        ("`total()` rounds", [Reference("total", symbol=("total",))]),
        ("round_half_up is asked for", [Reference("round_half_up", symbol=("round_half_up",))]),
        ("total() rounds, total(x) too", [Reference("total", symbol=("total",))]),
        ("OrderTotal", [Reference("OrderTotal", symbol=("OrderTotal",))]),
        (
            "a Cart::Order#total",
            [Reference("Cart::Order#total", symbol=("Cart", "Order", "total"))],
        ),
        ("The total of an order is in cents, since 3.5 hurts (see below).", []),
        ("`a phrase of prose` and 12:30", []),
    ],
)
def test_what_a_text_may_cite(text: str, expected: list[Reference]) -> None:
    # A name with a point may be a file's as well, until the code tells.
    found = [each for each in references_in(text) if each.written != each.path or "/" in each.path]
    assert found == expected


def test_a_thing_that_is_named_twice_is_one_reference() -> None:
    assert len(references_in("src/pay.py and again src/pay.py")) == 1


def test_a_long_text_without_blanks_is_read_in_time() -> None:
    for text in ("a/" * 50_000, "a." * 50_000, "`" * 50_000, "a_" * 50_000, "::" * 50_000):
        references_in(text)
