import gc
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minutebook.features.code.chunking import syntax
from minutebook.features.code.chunking.chunks import MAX_CHARACTERS, MAX_LINES, Chunk, chunk
from minutebook.features.code.chunking.languages import (
    LANGUAGES,
    Language,
    language_named,
    language_of,
)
from tests.examples import parametrize_in_part
from tests.features.code.chunking.given import SAMPLES, Sample, mutated

PYTHON = language_named("python")
LINES = [
    "",
    "    ",
    "x = 1",
    "def f():",
    "    return 1",
    "class A:",
    "# why",
    "}",
    "- a: b",
    "# A",
    "a:",
]


def lines_of(text: str) -> list[str]:
    """Split as the standard says that text files are read: at LF, CRLF and CR, and nowhere else."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def check_laws(text: str, language: Language | None) -> None:
    chunks = chunk(text, language)
    assert "".join(one.text for one in chunks) == text
    assert [one.start_line for one in chunks[:1]] == [1][: len(text)]
    for one, following in pairwise(chunks):
        assert following.start_line == one.end_line + 1
    for one in chunks:
        lines = one.end_line - one.start_line + 1
        assert lines == len(lines_of(one.text)) >= 1
        assert lines == 1 or (lines <= MAX_LINES and len(one.text) <= MAX_CHARACTERS)
        assert one.type in {"function", "class", "struct", "module", "impl", "other"}
        assert one.name or (one.type == "other" and not one.signature)
    assert chunk(text, language) == chunks


@pytest.mark.thorough
@given(mutated())
@example(("tokens.py", ""))
@example(("tokens.py", "\ufeff\n"))
def test_every_line_of_a_broken_file_lies_in_one_chunk_in_order(named: tuple[str, str]) -> None:
    name, text = named
    check_laws(text, language_of(name, text))


@given(st.text(), st.sampled_from([None, *LANGUAGES]))
def test_every_line_of_any_text_lies_in_one_chunk_in_order(
    text: str, language: Language | None
) -> None:
    check_laws(text, language)


@given(
    st.lists(st.sampled_from(LINES), max_size=200),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([None, PYTHON, language_named("markdown"), language_named("yaml")]),
)
def test_long_files_of_few_lines_keep_the_laws(
    lines: list[str], ending: str, language: Language | None
) -> None:
    check_laws(ending.join(lines), language)


@parametrize_in_part("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("sample", SAMPLES, ids=repr)
def test_a_sample_is_cut_as_written_down_whatever_ends_its_lines(
    sample: Sample, ending: str
) -> None:
    told = []
    text = sample.text.replace("\n", ending)
    for one in chunk(text, language_of(sample.name, text)):
        line = f"{one.start_line}-{one.end_line} {one.type} {one.name}".rstrip()
        told.append(f"{line} | {one.signature}" if one.signature else line)
    assert told == sample.outline


def test_an_empty_file_has_no_chunks() -> None:
    assert chunk("", PYTHON) == []


def test_one_line_without_an_end_is_one_chunk() -> None:
    assert chunk("x = 1", None) == [Chunk(1, 1, "x = 1", "other", "", "")]


def test_a_lone_surrogate_is_kept() -> None:
    text = "def f():\n    return '\udc80'\n"
    assert "".join(one.text for one in chunk(text, PYTHON)) == text


def method(lines: int) -> str:
    return "    def run(self):\n" + "        call(self.value)\n" * lines


def test_a_long_function_is_cut_between_statements_and_keeps_its_name() -> None:
    block = "    for item in items:\n        check(item)\n        keep(item)\n"
    chunks = chunk("def load(items):\n" + block * 60, PYTHON)
    assert len(chunks) > 2
    assert {(one.type, one.name, one.signature) for one in chunks} == {
        ("function", "load", "def load(items):")
    }
    assert all(one.text.startswith("    for") for one in chunks[1:])
    assert max(map(len, (one.text for one in chunks))) < 2 * min(
        map(len, (one.text for one in chunks))
    )


def test_a_class_is_its_head_and_its_methods() -> None:
    chunks = chunk('class Job:\n    """Work."""\n\n' + method(3) + "\n" + method(90), PYTHON)
    assert [one.name for one in chunks][:2] == ["Job", "Job.run"]
    assert chunks[0].text == 'class Job:\n    """Work."""\n\n'
    assert {one.name for one in chunks[2:]} == {"Job.run"}


def test_functions_inside_a_function_stay_unless_it_is_too_long() -> None:
    inner = "    def inner():\n        return 1\n"
    tail = "    return inner\n"
    assert [one.name for one in chunk("def outer():\n" + inner + tail, PYTHON)] == ["outer"]
    long = "def outer():\n" + inner + "    call()\n" * 80 + inner + tail
    names = [one.name for one in chunk(long, PYTHON)]
    assert names.count("outer.inner") == 2
    assert names[0] == "outer"


def test_comments_and_decorators_belong_to_what_follows() -> None:
    text = "import os\n\n# Why it is cached.\n@cache\n@retry(\n    3,\n)\ndef load():\n    pass\n"
    assert [one.start_line for one in chunk(text, PYTHON)] == [1, 3]


def test_a_comment_after_code_belongs_to_that_code() -> None:
    text = "LIMIT = 1  # bytes\ndef load():\n    pass\n"
    assert [one.start_line for one in chunk(text, PYTHON)] == [1, 2]


def test_a_remark_of_its_own_goes_with_what_it_introduces() -> None:
    text = "def a():\n    pass\n\n# --- loading ---\n\ndef load():\n    pass\n"
    assert [one.start_line for one in chunk(text, PYTHON)] == [1, 4]


def test_imports_and_constants_are_one_chunk_while_they_fit() -> None:
    text = "".join(f"import module{n}\n" for n in range(20)) + "\nLIMIT = 1\n\nNAMES = []\n"
    assert len(chunk(text, PYTHON)) == 1


def test_definitions_of_different_names_are_never_one_chunk() -> None:
    chunks = chunk("def a(): ...\ndef b(): ...\nclass C: ...\n", PYTHON)
    assert [one.name for one in chunks] == ["a", "b", "C"]


def test_two_definitions_on_one_line_stay_together() -> None:
    chunks = chunk("class A { a() { return 1 } }; class B {}\n", language_named("javascript"))
    assert [(one.name, one.type) for one in chunks] == [("A", "class")]


def test_names_of_endless_nesting_stay_short() -> None:
    text = "".join(f"namespace n{depth} {{\n" for depth in range(2000))
    chunks = chunk(text, language_named("cpp"))
    assert all(name.count("::") < 8 for name in (one.name for one in chunks))


def test_code_that_a_typing_person_left_is_still_cut_by_function() -> None:
    text = "def a(:\n    return 1\n\n\ndef b():\n    return 2\n\n\ndef c(\n"
    assert "b" in [one.name for one in chunk(text, PYTHON)]


def test_paragraphs_stay_whole_while_they_fit() -> None:
    paragraph = "word word word\n" * 20 + "\n"
    assert [one.text for one in chunk(paragraph * 6, None)] == [paragraph * 2] * 3


def test_a_line_too_long_is_a_chunk_of_its_own_and_hides_nothing_else() -> None:
    data = f'DATA = "{"x" * 200_000}"\n'
    chunks = chunk("def a():\n    return 1\n\n" + data + "\ndef b():\n    return 2\n", PYTHON)
    assert [one.name for one in chunks if one.type == "function"] == ["a", "b"]
    assert data in [one.text for one in chunks]


DEEP = {
    "brackets": "[\n" * 50_000,
    "indents": "".join("  " * depth + "a:\n" for depth in range(600)),
    "quotes": "> " * 400 + "\n" + "- " * 400 + "\n",
    "heredocs": "<<A\n" * 20_000,
    "angles": ("a<" * 40 + "\n") * 200,
    "noise": "(}`'\n" * 4000,
}


@pytest.mark.thorough
@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize("name", ["python", "json", "yaml", "markdown", "toml", "bash"])
def test_deep_nesting_is_cut_like_anything_else(name: str, text: str) -> None:
    chunks = chunk(text, language_named(name))
    assert "".join(one.text for one in chunks) == text


def test_what_takes_the_parser_too_long_is_cut_by_paragraphs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "def load():\n    return 1\n\n" * 500
    assert chunk(text, PYTHON)[0].name == "load"
    monkeypatch.setattr(syntax, "PARSE_SECONDS", -1.0)
    assert chunk(text, PYTHON) == chunk(text, None)


def test_an_endless_error_is_cut_by_paragraphs() -> None:
    text = ("(" * 80 + "\n") * 600
    assert chunk(text, PYTHON) == chunk(text, None)


@pytest.mark.thorough
def test_chunking_holds_on_to_nothing() -> None:
    text = "def load():\n    return 1\n\n" * 200
    chunk(text, PYTHON)
    tracemalloc.start()
    try:
        for _ in range(4):
            chunk(text, PYTHON)
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < len(text)


@pytest.mark.thorough
def test_threads_cut_alike() -> None:
    texts = [(sample.text, language_of(sample.name, sample.text)) for sample in SAMPLES] * 4
    alone = [chunk(*given) for given in texts]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda given: chunk(*given), texts)) == alone


def test_names_keep_letters_beyond_ascii() -> None:
    text = "# наш кеш\nclass Größe:\n    def 取得(self, naïve='×'):\n        return 'é'\n"
    chunks = chunk(text, PYTHON)
    assert [(one.name, one.signature) for one in chunks] == [
        ("Größe", "class Größe:"),
        ("Größe.取得", "def 取得(self, naïve='×'):"),
    ]


def test_a_null_ends_nothing() -> None:
    chunks = chunk("def a():\n    return '\0'\n\n\ndef b():\n    return 2\n", PYTHON)
    assert [one.name for one in chunks] == ["a", "b"]
