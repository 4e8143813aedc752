from dataclasses import fields
from pathlib import Path

from minutebook.config import Settings
from minutebook.contracts.knowledge import knowledge
from tests.contracts.requirements import DIVERGENCES, MANIFEST, proofs
from tools.write_docs import PAGES, contract_page, settings_page, stale, table, write


def test_pages_are_written_once_and_then_in_step(tmp_path: Path) -> None:
    assert stale(tmp_path) == list(PAGES)
    assert write(tmp_path) == list(PAGES)
    assert stale(tmp_path) == []
    assert write(tmp_path) == []
    page = tmp_path / "docs" / "settings.md"
    page.write_text(page.read_text(encoding="utf-8") + "x", encoding="utf-8")
    assert stale(tmp_path) == ["docs/settings.md"]


def test_every_setting_has_a_row() -> None:
    page = settings_page()
    for each in fields(Settings):
        assert f"| `{each.name}` | `MINUTEBOOK_{each.name.upper()}` |" in page


def test_no_path_of_this_machine_reaches_a_page() -> None:
    assert str(Path.home()) not in settings_page() + contract_page()


def test_every_tool_argument_promise_proof_and_divergence_is_on_the_contracts_page() -> None:
    page = contract_page()
    for tool in knowledge().promise["tools"]:
        assert f"### {tool['name']}\n" in page
        for name in tool["inputSchema"]["properties"]:
            assert f"| `{name}` |" in page
    for each in MANIFEST:
        assert f"`{each.id}`" in page
    for proof in proofs():
        assert proof.test in page
    for divergence in DIVERGENCES:
        assert divergence.why.replace("|", "&#124;") in page


def test_a_bar_in_a_cell_is_escaped() -> None:
    assert table(["a"], [["x|y"]])[-1] == "| x&#124;y |"
