import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minutebook.record.errors import InvalidInput
from minutebook.text.folding import folded
from minutebook.text.words import (
    _WIDEST,
    MAX_QUERY,
    MAX_QUERY_TERMS,
    MAX_TERM,
    TextQuery,
    length_in_words,
    parse_query,
    phrase,
    terms,
    without_names,
    words,
)

FRAGMENTS = (
    *("in_progress", "HTTPServer2", "camelCase", "v1.2.3", "C++", "C#", ".NET", "node.js", "URLs"),
    *("path/to/file.py", "ana@example.com", "https://a.b/c?d=e&f", "foo-bar", "Ana's", "_x_", "I"),
    *(
        "straße",
        "Łódź",
        "e\u0301",
        "\u0130",
        "ǅ",
        "ﷺ",
        "ﬁ",
        "①",
        "٣",
        "Ωραίος",
        "हिन्दी",
        "می\u200cخواهم",
    ),
    *(
        "東京",
        "都",
        "ひらがな",
        "カタカナ",
        "ｶﾞ",
        "서울에서",
        "สวัสดี",
        "ကမ္ဘာ",
        "🚀",
        "👩🏽\u200d🚀",
        "🇪🇺",
    ),
    *(
        " ",
        "\n",
        "\u00a0",
        "\u200b",
        ".",
        "-",
        "/",
        "'",
        "’",
        "#",
        "+",
        "_",
        "|",
        "!",
        "…",
        "—",
        "«",
    ),
    *(
        "\0",
        "\x1f",
        "\ud800",
        "\udfff",
        "\u0301",
        "\ufe0f",
        "\u20e3",
        "\ue000",
        "1",
        ".5",
        "x" * 70,
    ),
)
any_text = st.one_of(
    st.text(st.characters(exclude_categories=())),
    st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join),
)
unquoted_text = any_text.map(
    lambda text: text.translate(dict.fromkeys(map(ord, '"＂“”„‟«»「」『』')))
)


def stands_in(run: tuple[str, ...], listed: list[str]) -> bool:
    return any(tuple(listed[n : n + len(run)]) == run for n in range(len(listed)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ana met Bob.", ["ana", "met", "bob"]),
        ("Banana", ["banana"]),
        ("Ana's (Ana) “Ana” Ana-Maria", ["ana", "s", "ana", "ana", "ana", "maria"]),
        ("status: in_progress", ["status", "in_progress"]),
        ("_emphasis_ and __init__", ["emphasis", "and", "init"]),
        ("C++, C# and C; R&D", ["c++", "c#", "and", "c", "r", "d"]),
        ("issue#42, a++b", ["issue", "42", "a", "b"]),
        ("on .NET (.env), not ASP.NET", ["on", ".net", ".env", "not", "asp", "net"]),
        ("node.js v1.2.3.", ["node", "js", "v1.2.3"]),
        ("10.0.0.1 costs 3.14, not 1,000", ["10.0.0.1", "costs", "3.14", "not", "1", "000"]),
        ("Café Łódź ŒUVRE Straße", ["cafe", "lodz", "oeuvre", "strasse"]),
        ("Ὀδυσσεύς", ["οδυσσευσ"]),
        ("Ёлка", ["елка"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("مُحَمَّد", ["محمد"]),
        ("می\u200cخواهم co\u00adoperate", ["میخواهم", "cooperate"]),
        ("東京タワー", ["東", "京", "タ", "ワ", "ー"]),
        ("ｶﾞ ガ", ["ガ", "ガ"]),
        ("서울", ["서", "울"]),
        ("２０２４ ٢٠٢٤ ²", ["2024", "2024", "2"]),
        ("ship 🚀👍🏽!", ["ship", "🚀", "👍"]),
        ("a → b ─ c", ["a", "b", "c"]),
        ("\0\ud800 \x07", []),
        ("--- ... ''", []),
    ],
)
def test_words_are_folded_and_whole(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("status in_progress", ["in_progress", "progress", '"in progress"', "IN_PROGRESS"]),
        ("class HTTPServer2", ["httpserver2", "HTTPServer", "http", "server", "2"]),
        ("a camelCase name", ["camelcase", "camelCase", "camel", "case", "cases"]),
        ("see path/to/file.py", ["path/to/file.py", "file.py", "path", "py", '"file.py"']),
        ("since v1.2.3", ["v1.2.3", "1.2.3", "1.2", "v", "3"]),
        ("a foo-bar here", ["foo-bar", "foo", "bar", '"foo bar"']),
        ("ask ana.lee@example.com", ["ana.lee@example.com", "example.com", "ana", "ana.lee"]),
        ("at https://a.example/b?c=d", ["https://a.example/b?c=d", "a.example", "example", "d"]),
        ("sha256 of C++", ["256", "sha", "c++", "c"]),
        ("several URLs", ["url", "URL", "urls"]),
        ("the decisions", ["decision", "decisive", "Decisions"]),
        ("Füße in Łódź", ["fusse", "FÜSSE", "lodz"]),
        ("東京タワーに行く", ["東", "京タ", "東京タワー", '"タワーに"', "行く"]),
        ("서울에서 만나요", ["서울", "만나"]),
        ("สวัสดีครับ", ["สวัสดี", "ครับ"]),
        ("done 🚀", ["🚀"]),
    ],
)
def test_a_text_is_found_by_its_words_whole_and_by_part(text: str, queries: list[str]) -> None:
    for query in map(parse_query, queries):
        assert query
        assert {*query.terms} & {*terms(text)} or query.phrases
        assert all(stands_in(run, terms(text)) for run in query.phrases)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("the net result", ".env"),
        ("vitamin C", "C++"),
        ("a banana", "Ana"),
        ("version 2", "v2"),
        ("数学", "数据"),
        ("これはペン", "本は"),
    ],
)
def test_a_text_is_not_found_by_what_only_looks_alike(text: str, query: str) -> None:
    assert not {*parse_query(query).terms} & {*terms(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", TextQuery()),
        ('"" !', TextQuery()),
        ("What is the deadline?", TextQuery(("deadlin",))),
        ("who is it", TextQuery(("who", "is", "it"))),
        ("the tax, a tax and Taxes", TextQuery(("tax",))),
        ('which hamlet has "To be"', TextQuery(("hamlet",), (("to", "be"),))),
        ('the "to be"', TextQuery((), (("to", "be"),))),
        (
            "“to be” «c'est» „so“ 「東京」",
            TextQuery((), (("to", "be"), ("c", "est"), ("so",), ("東", "京"))),
        ),
        ('an "unclosed quote', TextQuery(("unclos", "quot"))),
        ('駅は"東京"です', TextQuery(("駅", "です"), (("東", "京"),))),
        ('a 5" and a 7" screen', TextQuery(("5", "7", "screen"))),
        ('"HTTPServer starts"', TextQuery((), (("httpserver", "start"),))),
        ("HTTPServer2", TextQuery(("httpserver2", "http", "server", "httpserver"))),
        ("in_progress", TextQuery(("in_progress", "progress"))),
        ("東京に行く", TextQuery(("東京", "行"))),
    ],
)
def test_a_query_is_terms_and_required_phrases(text: str, expected: TextQuery) -> None:
    assert parse_query(text) == expected


def test_a_query_is_falsy_only_when_there_is_nothing_to_look_for() -> None:
    assert not parse_query(" \0 ?")
    assert TextQuery(("a",))
    assert TextQuery(phrases=(("a", "b"),))


def test_a_phrase_does_not_run_from_the_words_into_the_parts() -> None:
    listed = terms("in_progress now")
    assert stands_in(("in", "progress"), listed)
    assert not stands_in(("now", "in"), listed)


def test_a_phrase_of_an_identifier_is_found_whatever_its_case() -> None:
    (sought,) = parse_query('"HTTPServer starts"').phrases
    assert stands_in(sought, terms("the httpserver starts"))


def test_a_query_stops_at_its_longest() -> None:
    query = parse_query(" ".join(f"w{n}" for n in range(1000)) + ' "' + "x y " * 500 + '" "more"')
    assert len(query.terms) == MAX_QUERY_TERMS
    assert [len(run) for run in query.phrases] == [MAX_QUERY_TERMS]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text",
    ["a" + "\u0315\u1dc4" * 10**5, "a" + "\u0654\u0655\u065f" * 10**5, "e" * 10**5, "a-" * 10**4],
    ids=["diacritics", "marks", "letters", "compound"],
)
def test_the_work_grows_no_faster_than_the_text(text: str) -> None:
    assert 1 <= len(terms(text)) <= len(text)
    assert parse_query(text[:MAX_QUERY])
    assert words(text)


@given(any_text)
@example("a/" * 200 + "1." * 200)
def test_terms_can_be_kept_anywhere(text: str) -> None:
    listed = terms(text)
    assert listed == terms(text)
    for term in listed:
        assert 0 < len(term) <= MAX_TERM
        assert term.split() == [term]
        assert all(sign.isprintable() or not sign.isascii() for sign in term)
        assert not {'"', "'", "*", "^", "(", ")"} & set(term)
        term.encode()


@given(any_text)
def test_terms_begin_with_the_term_of_each_word(text: str) -> None:
    whole = words(text)
    assert tuple(terms(text)[: len(whole)]) == phrase(whole)


@given(any_text)
def test_every_word_finds_its_text(text: str) -> None:
    held = {*terms(text)}
    for word in words(text):
        sought = parse_query(word)
        assert sought
        assert {*sought.terms} & held


@given(unquoted_text)
def test_every_text_finds_itself_with_every_term(text: str) -> None:
    assert {*parse_query(text).terms} <= {*terms(text)}


@given(any_text, st.data())
def test_every_run_of_words_is_found_as_a_phrase(text: str, data: st.DataObject) -> None:
    whole = words(text)
    start = data.draw(st.integers(0, len(whole)))
    run = whole[start : data.draw(st.integers(start, len(whole)))]
    sought = parse_query('"' + " ".join(run) + '"')
    assert sought.phrases == ((phrase(run),) if run else ())
    assert all(stands_in(found, terms(text)) for found in sought.phrases)


@given(st.text("東京都ひらカタ서울สวัด", min_size=1), st.data())
def test_every_stretch_of_a_script_without_spaces_is_found(text: str, data: st.DataObject) -> None:
    units = words(text)
    start = data.draw(st.integers(0, len(units) - 1))
    stretch = "".join(units[start : data.draw(st.integers(start + 1, len(units)))])
    sought = parse_query(stretch)
    assert sought
    assert {*sought.terms} <= {*terms(f"x1 {text} y")}
    assert stands_in(phrase(words(stretch)), terms(f"x1 {text} y"))


@given(any_text, any_text)
def test_words_of_two_texts_follow_one_another(one: str, other: str) -> None:
    assert words(f"{one} {other}") == words(one) + words(other)


@given(any_text)
def test_words_of_words_are_the_same_words(text: str) -> None:
    assert words(" ".join(words(text))) == words(text)


@given(any_text)
def test_equivalent_spellings_have_the_same_words(text: str) -> None:
    assert words(unicodedata.normalize("NFD", text)) == words(unicodedata.normalize("NFC", text))


@given(st.text(st.characters(codec="ascii")))
def test_case_makes_no_difference_to_words(text: str) -> None:
    assert words(text.upper()) == words(text.lower())


ALIKE = frozenset({"Cn", "Co", "Cs"})
"""Categories whose characters have no properties of their own: not assigned, private, surrogates."""


@pytest.mark.thorough
@pytest.mark.parametrize("step", [997, pytest.param(1, marks=pytest.mark.slow)])
def test_every_character_settles_at_once(step: int) -> None:
    """Every character; of those that Unicode tells nothing about, each so-manieth."""
    characters = [
        character
        for code, character in enumerate(map(chr, range(sys.maxunicode + 1)))
        if code % step == 0 or unicodedata.category(character) not in ALIKE
    ]
    for first in range(0, len(characters), 4096):
        text = " ".join(characters[first : first + 4096])
        once = words(text)
        assert words(" ".join(once)) == once


@pytest.mark.parametrize(
    ("text", "names", "rest"),
    [
        ("Who owns Falcon?", ["Falcon"], "Who owns ?"),
        ("who owns falcon?", ["Falcon"], "who owns ?"),
        ("Falconry and Falcon", ["Falcon"], "Falconry and"),
        ("the Payments team's printer", ["Payments", "Payments team"], "the 's printer"),
        ("¿Quién dirige El Faro?", ["El Faro", "Faro"], "¿Quién dirige ?"),
        ("谁负责猎鹰项目？", ["猎鹰"], "谁负责 项目？"),
        ("C++ or C?", ["C++"], "or C?"),
        ("Falcon", ["Falcon", ""], ""),
        ("nothing of it", [], "nothing of it"),
    ],
)
def test_names_are_taken_out_of_a_text_as_whole_words(
    text: str, names: list[str], rest: str
) -> None:
    assert without_names(text, names) == rest


def test_a_query_that_is_long_only_once_its_signs_are_written_out_is_refused() -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_query("\ufdfa" * MAX_QUERY)
    assert refusal.value.argument == "query"
    assert refusal.value.remedy == (
        "must have at most 20,000 characters once ligatures and symbols are written out (it has 180,000)"
    )
    assert parse_query("\ufdfa tea " * 400).terms
    assert parse_query("😀" + "a" * (MAX_QUERY - 1)).terms


def test_no_sign_is_written_out_longer_than_a_short_query_is_taken_to_be() -> None:
    signs = (chr(code) for code in range(sys.maxunicode + 1))
    assert max(len(folded(sign)) for sign in signs if unicodedata.decomposition(sign)) == _WIDEST


def test_a_query_names_the_terms_that_stand_for_each_word() -> None:
    assert parse_query("boiler leaks").words == (("boiler", "boi"), ("leak", "leaks"))
    assert parse_query("the boiler that leaks, the boiler").words == (("boiler",), ("leak",))
    assert parse_query('"green tea" kettle').words[0][0] == "kettl"
    german = parse_query("Welche Häuser sind gestrichen worden und welche nicht?")
    assert german.forms == 2
    assert [forms[0] for forms in german.words] == list(dict.fromkeys(german.terms[::2]))


@pytest.mark.parametrize(
    ("text", "length"),
    [("", 0), ("Who reviews it?", 3), ("谁审查它", 2), ("用 Kafka 吗", 2), ("ใครตรวจ", 3)],
)
def test_where_words_are_not_spaced_two_signs_are_a_word(text: str, length: float) -> None:
    assert length_in_words(text) == length
