"""The model of English beside the one of every language."""

import numpy as np
import pytest

from minutebook.features.models.built_in import builtin
from minutebook.features.models.built_in.builtin import BuiltInEmbedder
from minutebook.features.models.built_in.english import EnglishModel, shares
from minutebook.features.models.built_in.model_files import VOCABULARY
from minutebook.model.protocol import Embedded
from minutebook.text.late_interaction import OTHER_SCORE, Question, whole
from tests.features.models.oracle import Oracle
from tests.packed import packed_of

ENGLISH = "Friday deploys are forbidden since the outage in May."
GERMAN = "Am Freitag wird seit dem Ausfall im Mai nichts mehr ausgeliefert."
SENTENCES = [
    ENGLISH,
    "The old monolith is called Brunhilde, and nobody dares to touch its billing code.",
    "Ana is on parental leave until March; ask Ben about invoices.",
    "Feature flags older than ninety days are deleted.",
    "Retries are capped at four with exponential backoff.",
    "yes",
    "How do I reset the password of the staging database?",
    "SELECT name FROM users WHERE deleted_at IS NULL",
    "",
    "The certificate expires on the third of May and nobody renewed it. " * 12,
]


@pytest.fixture(scope="module")
def model() -> EnglishModel:
    return EnglishModel()


PIECES = {
    "Hello, World!": "hello , world !",
    "unaffable embeddings": "una ##ffa ##ble em ##bed ##ding ##s",
    "  Café\tÅngström\nNAÏVE  ": "cafe ang ##strom naive",
    "zero\u200bwidth \x00nul\ufffd": "zero ##wi ##dt ##h nu ##l",
    "深度 learning": "[UNK] [UNK] learning",
    "Мир": "м ##и ##р",
    "Ελλάδα": "ε ##λ ##λ ##α ##δ ##α",
    "straße": "st ##raße",
    "안녕": "ᄋ ##ᅡ ##ᆫ ##ᄂ ##ᅧ ##ᆼ",
    "x" * 101: "[UNK]",
    "e.g. a_b-c/d": "e . g . a _ b - c / d",
    "👍 ok": "[UNK] ok",
    "[CLS] [MASK]": "[ cl ##s ] [ mask ]",
    "": "",
}


def test_texts_become_the_pieces_of_the_published_rules(model: EnglishModel) -> None:
    pieces = VOCABULARY.read_text(encoding="utf-8").split("\n")
    for text, expected in PIECES.items():
        found = " ".join(pieces[id] for id in model.ids(text))
        assert found == expected, text
    assert model.ids("a lone \ud800 half") == model.ids("a lone \ufffd half")
    assert [pieces.index(each) for each in ("[CLS]", "[SEP]", "the")] == [101, 102, 1996]


def test_vectors_and_states_point_where_the_full_computation_does(
    model: EnglishModel, english_oracle: Oracle
) -> None:
    cosines = []
    for text in SENTENCES:
        vector, tokens = model.ask(text)
        ids = [101, *tokens.pieces.tolist(), 102]
        cosines.append(float(vector @ english_oracle.embed(ids)))
        full = english_oracle.states(ids)[1:-1]
        assert tokens.states.shape == full.shape
    assert np.median(cosines) >= 0.99
    assert min(cosines) >= 0.97


def test_parts_of_a_text_have_vectors_of_their_own(model: EnglishModel) -> None:
    first, second = "The kettle of the office is blue. ", "The server restarts at night. "
    both = first * 40 + second * 46
    cuts = shares([(0, 320), (320, 640)], 640)
    (read,) = model.read([both], [cuts])
    alone = [model.ask(each)[0] for each in (first, second)]
    likeness = read.rows @ np.array(alone).T
    assert likeness.argmax(axis=1).tolist() == [0, 1]
    assert np.allclose(np.linalg.norm(read.rows, axis=1), 1, atol=1e-5)
    assert len(read.tokens.signs) == len(read.tokens.pieces) == len(model.ids(both))


def test_a_rare_piece_surprises_more_than_a_frequent_one_and_a_sign_not_at_all(
    model: EnglishModel,
) -> None:
    the, zebra, sign = (model.ask(text)[1].surprise.max() for text in ("the", "zebra", "?"))
    assert 0 == sign < the < zebra


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ENGLISH, True),
        ("kettle blue", True),
        ("", False),
        ("6543", False),
        ("deploy bot", True),
        ("Il rilascio del venerdì è vietato.", False),
        ("En producción solo el lunes", False),
        (GERMAN, False),
        (
            "Les mises en production du vendredi sont interdites, parce que nous avons eu une panne au mois de mai.",
            False,
        ),
        ("周五禁止部署。", False),
        ("В пятницу ничего не выкладываем.", False),
    ],
)
def test_the_words_of_a_text_tell_whether_it_is_english(
    model: EnglishModel, text: str, expected: bool
) -> None:
    assert model.is_english(text) is expected


def sections(made: Embedded) -> tuple[int, int]:
    """Return how many tokens a passage has by each model."""
    assert made.packed is not None
    return tuple(np.frombuffer(made.packed[3:11], "<u4").tolist())


def test_an_english_text_has_two_sections_and_a_german_one_has_one(
    embedder: BuiltInEmbedder,
) -> None:
    english, german = embedder.embed_passages([ENGLISH, GERMAN])
    assert min(sections(english)) > 5
    assert sections(german)[0] > 5
    assert sections(german)[1] == 0
    assert english.packed is not None
    assert german.packed is not None
    packed = {"english": english.packed, "german": german.packed}
    assert whole(packed) == packed


def test_the_cosine_of_two_texts_is_shared_by_both_models(embedder: BuiltInEmbedder) -> None:
    asked = embedder.embed_query("can I ship on the last day of the week")
    kept = embedder.embed_passages([ENGLISH, GERMAN])
    for made in (asked, *kept):
        assert made.rows.shape == (1, builtin.MODEL.dimensions)
        assert np.linalg.norm(made.vector) == pytest.approx(1, abs=1e-5)
        halves = np.square(made.vector).reshape(2, -1).sum(axis=1)
        assert halves == pytest.approx([builtin.SHARE, 1 - builtin.SHARE], abs=1e-5)


def test_questions_are_compared_by_the_model_of_english_with_english_texts_alone(
    embedder: BuiltInEmbedder,
) -> None:
    made = [
        embedder.embed_query(each)
        for each in (
            "can I ship on Friday?",
            "Wird am Freitag noch etwas in die Produktion gebracht, oder ist das nicht erlaubt?",
        )
    ]
    packed = [each.packed or b"" for each in embedder.embed_passages([ENGLISH, GERMAN])]
    cosines = np.zeros(2, np.float32)
    constant, weight, _ = OTHER_SCORE
    for asked, has_english in zip(made, (True, False), strict=True):
        assert (asked.english is not None) is has_english
        assert asked.tokens is not None
        question = Question(asked.tokens, asked.english)
        late, scores = question.late(packed), question.scores(packed, cosines)
        by_all = constant + weight * late
        assert np.isclose(by_all, scores, atol=1e-5).tolist() == [not has_english, True]


def test_code_has_vectors_by_the_model_of_every_language_alone(embedder: BuiltInEmbedder) -> None:
    code = "def mean(values):\n    return sum(values) / len(values)"
    (made,) = embedder.embed_code([code])
    assert builtin.MODEL.code is not None
    # An index of code that an earlier release made stays as it is.
    assert builtin.MODEL.code.digest.startswith("8bf172bb368b6944")
    assert made.rows.shape == (1, builtin.MODEL.code.dimensions)
    assert made.packed is None
    asked = embedder.embed_query("average of numbers").others[builtin.MODEL.code.digest]
    assert asked.shape == made.vector.shape
    assert asked @ made.vector > 0.75


def test_states_of_the_release_before_are_still_read(embedder: BuiltInEmbedder) -> None:
    asked = embedder.embed_query(GERMAN)
    assert asked.tokens is not None
    now = packed_of(asked.tokens)
    before = b"\x01" + now[1:7] + now[11:]
    assert whole({"before": before}) == {"before": before}
    assert whole({"torn": before[:-1]}) == {}
    scores = Question(asked.tokens).late([now, before])
    assert scores[0] == scores[1] > 0.7
