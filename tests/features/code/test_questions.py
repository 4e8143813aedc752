"""Whether the questions that people ask of code find it, with the model in the box."""

from collections.abc import Iterator

import pytest

from minutebook.model import Embedding
from minutebook.record.caller import Note
from tests.world import World, worlds

FILES = {
    "shop/settings.py": '''
import tomllib
from collections.abc import Iterator
from pathlib import Path


class ConfigLoader:
    """Where the settings of the shop come from."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> dict:
        with self.path.open("rb") as file:
            config = tomllib.load(file)
        return self.checked(config)

    def checked(self, settings: dict) -> dict:
        unknown = settings.keys() - {"currency", "tax", "warehouse"}
        if unknown:
            raise ValueError(f"unknown settings: {unknown}")
        return settings
''',
    "shop/delivery.py": '''
import time


class Courier:
    def load(self, parcels):
        """Put parcels into the van."""
        for parcel in parcels:
            self.van.append(parcel)

    def announce(self, order):
        for attempt in range(self.retries):
            try:
                return self.client.request("POST", "/deliveries", json=order)
            except ConnectionError:
                time.sleep(2**attempt)
        raise DeliveryFailed(order)
''',
    "shop/prices.py": """
def with_tax(price, rate):
    return price * (1 + rate)


def discounted(price, percent):
    return price - price * percent / 100
""",
    "web/cart.ts": """
export class Cart {
  private lines: Line[] = [];

  add(article: Article, count = 1): void {
    this.lines.push({ article, count });
  }

  total(): number {
    return this.lines.reduce((sum, line) => sum + line.article.price * line.count, 0);
  }
}
""",
    "tests/test_settings.py": """
from shop.settings import ConfigLoader


def test_config_toml_is_parsed(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text("currency = 'EUR'")
    assert ConfigLoader(path).load() == {"currency": "EUR"}
""",
    "tests/test_delivery.py": """
def test_failed_requests_are_retried(courier, server):
    server.fail(times=3)
    courier.announce({"id": 1})
    assert server.requests == 4
""",
    "README.md": """
# Shop

Articles, carts and deliveries.

## Running

Start it with `make run`; it listens on port 8000.
""",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, built_in: Embedding) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("shop")
    root = folder / "shop"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text.lstrip(), encoding="utf-8")
    with worlds(folder / "homes") as opener:
        world = opener(built_in)
        assert world.call("index_project", path=str(root))["status"] == "completed"
        yield world


@pytest.mark.parametrize(
    ("query", "path", "name"),
    [
        ("parse config toml", "shop/settings.py", "ConfigLoader.load"),
        ("ConfigLoader.load", "shop/settings.py", "ConfigLoader.load"),
        ("where do we retry failed requests", "shop/delivery.py", "Courier.announce"),
        ("sum of everything in the cart", "web/cart.ts", "Cart.total"),
        ("test that config toml is parsed", "tests/test_settings.py", "test_config_toml_is_parsed"),
    ],
)
def test_a_question_finds_what_does_it(shop: World, query: str, path: str, name: str) -> None:
    first = shop.call("search_code", query=query)["results"][0]
    assert (first["file_path"], first["name"]) == (path, name)


def note(shop: World, query: str) -> Note | None:
    fresh = shop.by(request=query)
    answer = fresh.contract.call(fresh.app, fresh.caller, "search_code", {"query": query})
    assert answer.content is not None
    assert answer.content["results"]
    return answer.notes.get("relevance")


def test_what_comes_near_by_chance_is_shown_as_of_little_relevance(shop: World) -> None:
    answer = shop.call("search_code", query="recipe for tomato soup with basil")
    assert all(each["relevance"] < 0.3 for each in answer["results"])


@pytest.mark.parametrize(
    "query",
    [
        "who won the football match in Vienna",
        "welche Symptome hat eine Grippe bei Kindern",
    ],
)
def test_a_question_about_nothing_here_is_told_so(shop: World, query: str) -> None:
    said = note(shop, query)
    assert said is not None
    assert said.leads
    assert said.text == "Perhaps nothing here is about that; these are the nearest."


@pytest.mark.parametrize(
    "query",
    [
        "parse config toml",
        "ConfigLoader.load",
        "announce",
        "warehouse",
        "where do we retry failed requests",
        "sum of everything in the cart",
        "How do I run it?",
    ],
)
def test_a_question_that_code_answers_has_no_such_note(shop: World, query: str) -> None:
    assert note(shop, query) is None
