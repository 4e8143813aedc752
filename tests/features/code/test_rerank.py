from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.code.rerank import RankedChunk, rerank


def sight(id: str, score: float = 0.5, **fields: str) -> RankedChunk:
    plain = {"path": f"{id}.py", "name": "", "type": "function"}
    return RankedChunk(id=("acme", id), score=score, **{**plain, **fields})


def order(query: str, *found: RankedChunk) -> list[str]:
    return [id for (_, id), _ in rerank(query, found, 10)]


def test_the_chunk_that_defines_the_name_asked_for_leads() -> None:
    use = sight("use", 0.7, name="main")
    load = sight("load", 0.5, name="config.ConfigLoader.load")
    for query in ("ConfigLoader.load", "configloader.load()", " load ", "ConfigLoader::load"):
        assert order(query, use, load) == ["load", "use"]
    assert order("load the configuration", use, load) == ["use", "load"]


def test_an_identifier_among_words_counts_as_a_name() -> None:
    use, define = sight("use", 0.55), sight("define", 0.5, name="retry_failed")
    assert order("where is retry_failed called", use, define) == ["define", "use"]
    assert order("where is retry failed called", use, define) == ["use", "define"]


def test_definitions_come_before_what_uses_them() -> None:
    assert order("boil", sight("a", type="other"), sight("b", type="class")) == ["b", "a"]


def test_tests_vendored_and_generated_code_stand_back_unless_asked_for() -> None:
    plain = sight("plain", 0.4)
    for path, asking in (
        ("tests/test_tea.py", "test of tea"),
        ("src/tea.test.ts", "tests for tea"),
        ("pkg/tea_test.go", "test tea"),
        ("vendor/tea/tea.go", "vendored tea"),
        ("web/node_modules/tea/index.js", "tea in node_modules"),
        ("dist/tea.js", "dist of tea"),
        ("examples/tea.py", "example of tea"),
    ):
        aside = sight("aside", 0.5, path=path)
        assert order("tea", plain, aside) == ["plain", "aside"]
        assert order(asking, plain, aside) == ["aside", "plain"]
    for path in ("src/latest.py", "contest/entry.py", "src/testament.rs", "rebuild/a.py"):
        assert order("tea", plain, sight("same", 0.5, path=path)) == ["same", "plain"]


def test_pieces_of_one_definition_make_room_for_others() -> None:
    for name in ("brew", ""):
        many = [sight(f"m{n}", 0.5, path="many.py", name=name) for n in range(3)]
        assert order("tea", *many, sight("one", 0.45)) == ["m0", "one", "m1", "m2"]


def test_each_definition_of_a_file_stands_for_itself() -> None:
    many = [sight(f"m{n}", 0.5, path="many.py", name=f"brew{n}") for n in range(3)]
    assert order("tea", *many, sight("one", 0.45)) == ["m0", "m1", "m2", "one"]


@given(
    st.text(max_size=20),
    st.lists(
        st.builds(
            sight,
            st.sampled_from("abcdef"),
            st.sampled_from([0.0, 0.25, 0.5, 1.0]),
            path=st.sampled_from(["a.py", "tests/b.py", "vendor/c.go"]),
            name=st.sampled_from(["", "load", "A.load"]),
            type=st.sampled_from(["other", "function"]),
        ),
        unique_by=lambda each: each.id,
    ),
    st.integers(0, 5),
)
def test_ranking_keeps_to_the_limit_the_range_and_one_order(
    query: str, found: list[RankedChunk], limit: int
) -> None:
    ranked = rerank(query, found, limit)
    assert len(ranked) == min(limit, len(found))
    assert [score for _, score in ranked] == sorted((s for _, s in ranked), reverse=True)
    assert all(0 <= score <= 1 for _, score in ranked)
    assert ranked == rerank(query, found[::-1], limit)
