import pytest

from minutebook.features.code.chunking.outline import headings, keys


def markdown(text: str) -> list[tuple[int, int, str]]:
    return [(one.first, one.last, one.name) for one in headings(text.splitlines(True)).definitions]


def yaml(text: str) -> list[tuple[int, int, str]]:
    return [(one.first, one.last, one.name) for one in keys(text.splitlines(True)).definitions]


def test_a_section_ends_before_the_next_heading_of_its_level_or_higher() -> None:
    assert markdown("# A\na\n## B\nb\n### C\n## D\n# E\n") == [
        (0, 5, "A"),
        (2, 4, "B"),
        (4, 4, "C"),
        (5, 5, "D"),
        (6, 6, "E"),
    ]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("# Plain", "Plain"),
        ("   ###### Closed ######  ", "Closed"),
        ("## `code` and **bold** and snake_case", "code and bold and snake_case"),
        ("# [A link](page.md)", "A link"),
        ("#", ""),
        ("# #hash", "#hash"),
    ],
)
def test_a_heading_is_named_by_its_text(line: str, name: str) -> None:
    assert markdown(line) == [(0, 0, name)]


@pytest.mark.parametrize("line", ["#hashtag", "    # code", "####### seven", "\\# escaped", ""])
def test_other_lines_are_no_headings(line: str) -> None:
    assert markdown(line) == []


@pytest.mark.parametrize(
    "text",
    [
        "```\n# no\n```\n",
        "~~~ sh\n# no\n```\n# no\n~~~\n",
        "````\n```\n# no\n````\n",
        "```\n# never closed\n",
        "---\n# front matter\n---\n",
    ],
)
def test_what_stands_in_fences_is_no_heading(text: str) -> None:
    assert markdown(text) == []


def test_backticks_in_a_line_of_text_open_no_fence() -> None:
    assert markdown("```a``` b\n# A\n") == [(1, 1, "A")]


def test_an_underlined_line_is_a_heading() -> None:
    assert markdown("A\n=\n\nB\n---\nb\n") == [(0, 5, "A"), (3, 5, "B")]


@pytest.mark.parametrize("text", ["---\n", "- a\n---\n", "\n===\n", "a | b\n|---\n", "# A\n---\n"])
def test_a_rule_or_table_underlines_nothing(text: str) -> None:
    assert [name for _, _, name in markdown(text)] in ([], ["A"])


def test_yaml_keys_at_the_margin_are_definitions() -> None:
    assert yaml("a: 1\nb:\n  c: 2\n\n  d: 3\n\n# why\ne: 4\n") == [
        (0, 0, "a"),
        (1, 4, "b"),
        (7, 7, "e"),
    ]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('"a b": 1', "a b"),
        ("'a''b': 1", "a''b"),
        ("a b: 1", "a b"),
        ("http://x: 1", "http://x"),
        ("a#b: 1", "a#b"),
        ("on:", "on"),
        ("${{ x }}: 1", "${{ x }}"),
    ],
)
def test_a_yaml_key_is_named_as_written(line: str, name: str) -> None:
    assert yaml(line) == [(0, 0, name)]


@pytest.mark.parametrize(
    "line", ["# a: 1", "- a: 1", "  a: 1", "a:1", "{a: 1}", "--- a: 1", "...", "a # b: c", '"a: b"']
)
def test_other_yaml_lines_are_no_keys(line: str) -> None:
    assert yaml(line) == []


def test_a_list_at_the_margin_belongs_to_its_key() -> None:
    assert yaml("a:\n- 1\n- 2\nb: 1\n") == [(0, 2, "a"), (3, 3, "b")]


def test_a_new_document_ends_a_key() -> None:
    assert yaml("a:\n  b: 1\n---\nc: 1\n") == [(0, 1, "a"), (3, 3, "c")]


@pytest.mark.parametrize("line", ["=" + " " * 30_000 + "x", "# " + "![" * 30_000])
def test_a_long_line_takes_work_by_its_length(line: str) -> None:
    assert len(headings(["a", line]).definitions) == line.startswith("#")
