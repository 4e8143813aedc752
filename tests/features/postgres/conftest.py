"""Which of the conformance tests the server engine passes in `make test`; `make test-all` runs all."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.features.postgres.engine import RowsOf


CHOSEN = {
    "test_an_exception_undoes_all_of_a_transaction",
    "test_a_failed_inner_transaction_leaves_the_outer_one_whole",
    "test_inside_a_transaction_the_thread_reads_what_it_wrote",
    "test_others_see_all_of_a_transaction_or_nothing",
    "test_what_is_given_one_by_one_is_of_one_moment",
    "test_a_snapshot_reads_one_moment_of_everything",
    "test_writers_wait_for_one_another",
    "test_who_follows_the_changes_misses_none_of_four_writers",
    "test_two_who_read_judge_and_write_do_not_lose_what_the_other_wrote",
    "test_a_write_to_an_organization_that_is_not_named_is_refused",
    "test_a_record_comes_back_as_it_was",
    "test_the_keys_of_an_object_keep_their_order",
    "test_find_selects_orders_and_cuts",
    "test_a_page_is_cut_from_all_organizations_together",
    "test_decisions_are_found_by_what_all_spellings_of_their_target_share",
    "test_the_edges_that_touch_a_deleted_node_go_with_it",
    "test_organizations_are_those_that_hold_or_held_a_record",
    "test_after_close_every_call_says_so_until_it_is_opened_again",
    "test_match_ranks_as_bm25_says",
    "test_a_phrase_matches_whole_words_in_a_row",
    "test_a_changed_text_loses_its_vectors_and_no_other_change_does",
    "test_token_states_go_with_the_text_and_with_the_record",
    "test_records_without_states_of_a_form_lack_something",
    "test_nearest_ranks_by_the_best_part",
    "test_every_way_to_ask_meets_the_same_conditions",
    "test_with_a_limit_the_heaviest_edges_come_first",
    "test_an_entity_is_named_by_its_whole_name_or_alias",
    "test_vectors_and_deletions_are_changes_too",
}
_CLASSES = {"TestPostgres", "TestPostgresProcesses"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        of = getattr(item, "cls", None)
        if of is None or of.__name__ not in _CLASSES:
            continue
        if getattr(item, "originalname", item.name) not in CHOSEN:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def rows_of(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[RowsOf]":
    """What reads from the database of a store on the server that holds nothing, and is not written to."""
    from tests.features.postgres.engine import empty_store

    with empty_store(tmp_path_factory.mktemp("empty") / "store") as rows_of:
        yield rows_of
