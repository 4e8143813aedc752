from dataclasses import fields
from pathlib import Path

import pytest

from minutebook.config import all_settings
from minutebook.serve.contracts.registry import CONTRACTS
from tests.serve.contracts.requirements import DIVERGENCES, MANIFEST, proofs
from tools import write_docs
from tools.tables import table
from tools.write_docs import (
    PAGES,
    ROOT,
    contract_page,
    promises_page,
    settings_page,
    stale,
    write,
)


@pytest.mark.thorough
def test_pages_are_written_once_and_then_in_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = {name: PAGES[name] for name in ("docs/settings.md", "docs/promises.md")}
    monkeypatch.setattr(write_docs, "PAGES", some)
    assert stale(tmp_path) == list(some)
    assert write(tmp_path) == list(some)
    assert stale(tmp_path) == []
    assert write(tmp_path) == []
    page = tmp_path / "docs" / "settings.md"
    page.write_text(page.read_text(encoding="utf-8") + "x", encoding="utf-8")
    assert stale(tmp_path) == ["docs/settings.md"]


def test_every_setting_has_a_row() -> None:
    page = settings_page()
    for each in fields(all_settings()):
        assert f"\n| `{each.name}` | " in page


@pytest.mark.thorough
def test_no_path_of_this_machine_reaches_a_page() -> None:
    for page in PAGES.values():
        assert str(Path.home()) not in page()


@pytest.mark.parametrize("name", CONTRACTS)
def test_every_tool_argument_resource_prompt_and_error_is_on_its_contracts_page(name: str) -> None:
    contract = CONTRACTS[name]()
    page = contract_page(contract)
    for tool in contract.promise["tools"]:
        assert f"### {tool['name']}\n" in page
        for argument in tool["inputSchema"]["properties"]:
            assert f"| `{argument}` |" in page
    for each in (*contract.resources, *contract.templates):
        assert each.promise["description"] in page
    for each in (*contract.prompts, *contract.promise["errors"], *contract.aliases):
        assert each in page


@pytest.mark.needs("catalog")
def test_an_argument_inside_another_has_a_row_with_its_way() -> None:
    page = contract_page(CONTRACTS["catalog"]())
    for way in ("filters.metadata", "items[].current_content"):
        assert f"| `{way}` |" in page


@pytest.mark.whole
def test_every_promise_proof_and_divergence_is_on_the_page_of_promises() -> None:
    page = promises_page()
    for each in MANIFEST:
        assert f"| `{each.id}` |" in page
    for proof in proofs():
        assert proof.test in page
        assert (ROOT / proof.path).is_file()
    for divergence in DIVERGENCES:
        assert divergence.why.replace("|", "&#124;") in page


def test_a_bar_in_a_cell_is_escaped() -> None:
    assert table(["a"], [["x|y"]])[-1] == "| x&#124;y |"
