import json
import resource
import sys
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from minutebook.features.models.built_in.tokenizer import STRETCH, Tokenizer
from tests.examples import examples
from tests.features.models.unigram import Unigram
from tools.models.e5 import E5Weights
from tools.models.sentencepiece_file import rules

PLAIN = [
    "",
    " ",
    "hello world",
    "We moved the database to PostgreSQL in March; see ticket #4711.",
    "Мы решили перенести базу данных в марте.",
    "Η συνεδρίαση αναβλήθηκε για την Πέμπτη.",
    "我们决定在三月迁移数据库。我們決定在三月遷移資料庫。",
    "データベースの移行は三月に決まりました。ﾊﾝｶｸ",
    "데이터베이스를 3월에 이전하기로 했습니다.",
    "ገና ነው። ሰላም ለዓለም።",
    "Ծրագիրը պատրաստ է։ გამარჯობა მსოფლიო",
    "שלום עולם",
    "cuộc họp đã được dời sang thứ năm",
    "def f(x):\n\treturn [y for y in x if y % 2 == 0]\r\n",
    "https://example.org/a?b=c&d=%20 user@example.org 192.168.0.1",
    '{"a": [1, 2.5e-3, null], "b": "\\u00e9"}',
    "①②③ ﬁ ﬂ ½ ™ ℃ Ⅷ ㎏ ＡＢＣ　ｱ",
    "\ufdfa",
    "👍🏽 🇫🇷 ❤️ 😀",
    "<s> </s> <pad> <unk> <mask> ▁ ▁▁x",
    "a" * 300,
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
]
HARD = [
    "👩‍👩‍👧‍👦 👩🏽‍🚀 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "\ufdfa\u0323 \ufdfa\ufdfb",
    "nul\x00in\x00side",
    "\x00",
    "".join(map(chr, range(1, 0xA1))),
    "\u200bzero\u200cwidth\u200djoin\u2060er\ufeff \u00ad",
    "e\u0301 o\u0308\u0323 a\u0323\u0302 \u1112\u1161\u11ab Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!",
    "\u0301starts with a mark",
    " \t\r\n\v\f\x85\u2028\u2029\u3000\u00a0mixed \u2003 blanks\u205f ",
    "قررنا نقل قاعدة البيانات في مارس. مُحَمَّد",
    "हमने मार्च में डेटाबेस स्थानांतरित किया। தமிழ் తెలుగు বাংলা",
    "ประชุมถูกเลื่อนไปวันพฤหัสบดี ພາສາລາວ မြန်မာ ខ្មែរ བོད་ཡིག",
    "\U0001d573\U0001d58a\U0001d591\U0001d591\U0001d594 \U00010348 \U000e0001 \U0010ffff \ufffe",
    "′′′ ″ ‴ ⁗ … ‥",
]
PLACES = [0x20, 0x41, 0xC0, 0x300, 0x370, 0x400, 0x5D0, 0x620, 0x900, 0xE00, 0x1100, 0x1E00]
PLACES += [0x2000, 0x2460, 0x3040, 0x4E00, 0xA960, 0xAC00, 0xF900, 0xFB00, 0xFF00, 0x1D400, 0x1F600]


@pytest.fixture(scope="module")
def all_rules(weights: E5Weights) -> dict[str, str]:
    return rules(weights.vocabulary.characters)


@pytest.fixture(scope="module")
def reference(weights: E5Weights, all_rules: dict[str, str]) -> Unigram:
    return Unigram(weights.vocabulary, all_rules)


@pytest.mark.thorough
@pytest.mark.parametrize("text", [*PLAIN, *HARD], ids=ascii)
def test_the_ids_are_those_of_the_published_rules(
    text: str, tokenizer: Tokenizer, reference: Unigram
) -> None:
    assert tokenizer.ids(text) == reference.ids(text)


characters = st.one_of(
    st.sampled_from(" \n\t\u200d\u0301\u0308\u0323\u3000\u2581\ufdfa\xbdab\x00"),
    st.builds(lambda place, step: chr(place + step), st.sampled_from(PLACES), st.integers(0, 95)),
    st.characters(exclude_categories=["Cs"]),
)


@settings(max_examples=examples(300), deadline=None)
@given(text=st.text(characters, max_size=40))
@example(text="\u2460\u0301 \xbd\u200dc")
def test_any_text_has_the_ids_of_the_published_rules(
    text: str, tokenizer: Tokenizer, reference: Unigram
) -> None:
    assert tokenizer.ids(text) == reference.ids(text)


@pytest.mark.thorough
def test_plain_text_has_the_ids_of_the_other_well_known_implementation(
    weights: E5Weights, tokenizer: Tokenizer
) -> None:
    # That one loses marks after a replaced character and splits at U+0085, so it gets plain text,
    # which `unicodedata` and the weights' own map are enough to bring into normal form.
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = weights.vocabulary
    pieces = [
        [piece.decode(), score]
        for piece, score in zip(vocabulary.pieces, vocabulary.scores, strict=True)
    ]
    steps = [
        {"type": "WhitespaceSplit"},
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    ]
    other = tokenizers.Tokenizer.from_str(
        json.dumps(
            {
                "version": "1.0",
                "added_tokens": [],
                "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps},
                "model": {"type": "Unigram", "unk_id": vocabulary.unknown, "vocab": pieces},
            }
        )
    )
    for text in PLAIN:
        normal = "".join(vocabulary.characters.get(c, c) for c in text)
        if "<" not in text:  # special tokens are pieces like any other there
            assert other.encode(normal).ids == tokenizer.ids(text), text


def test_rules_for_single_characters_are_the_models_own(
    weights: E5Weights, all_rules: dict[str, str]
) -> None:
    own = weights.vocabulary.characters
    assert {k: v for k, v in all_rules.items() if len(k) == 1} == own


@pytest.mark.thorough
def test_rules_for_sequences_are_the_compositions_of_unicode(
    all_rules: dict[str, str],
) -> None:
    found = {k: v for k, v in all_rules.items() if len(k) > 1}
    here = {k for k in found if all(unicodedata.category(c) != "Cn" for c in k + found[k])}
    assert len(here) > 219_000
    assert [k for k in here if unicodedata.normalize("NFKC", k) != found[k]] == []


def test_rules_for_sequences_leave_out_characters_the_model_reads_otherwise(
    weights: E5Weights, all_rules: dict[str, str]
) -> None:
    own = weights.vocabulary.characters
    used = {c for source in all_rules if len(source) > 1 for c in source}
    assert [c for c in used if own.get(c, c) != unicodedata.normalize("NFKC", c)] == []
    assert "\ua7f2\u0301" not in all_rules


@given(text=st.text(characters, max_size=30), word=st.sampled_from(["query:", "passage:"]))
@example(text="\\QQQ", word="query:")
@settings(max_examples=examples(100), deadline=None)
def test_a_prefix_has_the_same_ids_before_any_text(
    text: str, word: str, tokenizer: Tokenizer
) -> None:
    # In any order: QQ Q and Q QQ are as likely, and what stands before may tip the rounding.
    together, apart = tokenizer.ids(f"{word} {text}"), tokenizer.ids(word) + tokenizer.ids(text)
    assert sorted(together) == sorted(apart)


@pytest.mark.parametrize("lone", ["\ud800", "a\udc00b", "\ud83d \ude00", "x\udfff"], ids=ascii)
def test_lone_surrogates_are_read_as_replacement_characters(
    lone: str, tokenizer: Tokenizer
) -> None:
    read = "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in lone)
    assert tokenizer.ids(lone) == tokenizer.ids(read)
    assert tokenizer.ids(lone) != tokenizer.ids(lone.encode("utf-8", "replace").decode())


def test_a_long_text_has_the_ids_of_its_stretches_joined(
    tokenizer: Tokenizer, reference: Unigram
) -> None:
    line = " ".join(PLAIN[2:6]) + " \u0301e\u0301\n"
    text = line * (2 * STRETCH // len(line) + 2)
    assert len(text) > 2 * STRETCH
    assert tokenizer.ids(text) == reference.ids(line) * text.count("\n")


@pytest.mark.parametrize("limit", [0, 1, 500, 10_000])
def test_a_limit_gives_the_first_ids(limit: int, tokenizer: Tokenizer) -> None:
    text = "Съешь же ещё этих мягких французских булок " * 2000
    assert tokenizer.ids(text, limit) == tokenizer.ids(text)[:limit]


@pytest.mark.thorough
@pytest.mark.parametrize("unit", ["The quick brown fox. ", "迁移数据库", "x"])
def test_megabytes_take_memory_in_proportion_to_their_tokens(
    unit: str, tokenizer: Tokenizer
) -> None:
    text = unit * (3_000_000 // len(unit.encode()))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = tokenizer.ids(text)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    kilobytes = (sys.getsizeof(found) + 32 * len(found)) / 1024
    assert len(found) > len(text) // 32
    assert grown < kilobytes + 4 * len(text) / 1024 + 32_768


@pytest.mark.thorough
def test_ten_megabytes_of_blanks_are_empty(tokenizer: Tokenizer) -> None:
    assert tokenizer.ids(" \n\u3000" * 2_000_000) == []


def test_a_rare_piece_surprises_more_than_a_frequent_one(tokenizer: Tokenizer) -> None:
    the, zebra = (tokenizer.surprise(tokenizer.ids(word)).max() for word in ("the", "zebra"))
    assert 0 < the < zebra


def test_a_piece_without_letter_or_digit_does_not_surprise(tokenizer: Tokenizer) -> None:
    for sign in ("?", "。", "…", "—"):
        assert tokenizer.surprise(tokenizer.ids(sign)).max() == 0
    assert tokenizer.surprise([]).shape == (0,)
