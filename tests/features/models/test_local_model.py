import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minutebook.features.models.local_model import FolderEmbedder
from minutebook.record.errors import ModelUnavailable

onnx = pytest.importorskip("onnx")
pytest.importorskip("tokenizers")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "query", "passage", "red", "green", "blue", "sky"]
WIDTH = 4
TABLE = np.random.default_rng(0).normal(size=(len(WORDS), WIDTH)).astype(np.float32)


def write_graph(path: Path, *, type_ids: bool = False, pooled: bool = False) -> None:
    """A model whose token states are rows of a table; masked means if it pools itself."""
    from onnx import TensorProto, helper, numpy_helper

    axes = ["b", "s"]
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if type_ids else [])]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, axes) for name in names]
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    shown = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*axes, WIDTH])
    outputs = [shown]
    if pooled:
        nodes += [
            helper.make_node("ReduceMax", ["last_hidden_state"], ["sentence_embedding"], **LAST)
        ]
        outputs.append(
            helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["b", WIDTH])
        )
    graph = helper.make_graph(
        nodes, "table", inputs, outputs, [numpy_helper.from_array(TABLE, "table")]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(model.SerializeToString())


LAST: dict[str, Any] = {"axes": [1], "keepdims": 0}


def write_tokenizer(path: Path) -> None:
    special = [
        {"id": id, "content": WORDS[id], "special": True}
        | dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized"], False)
        for id in range(4)
    ]
    steps = [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
    ]
    steps += [{"SpecialToken": {"id": "[SEP]", "type_id": 0}}]
    tokens = {
        name: {"id": name, "ids": [WORDS.index(name)], "tokens": [name]} for name in WORDS[2:4]
    }
    content = {
        "version": "1.0",
        "added_tokens": special,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": steps,
            "pair": steps,
            "special_tokens": tokens,
        },
        "padding": {
            "strategy": {"Fixed": 32},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "[PAD]",
        },
        "model": {
            "type": "WordLevel",
            "vocab": {word: id for id, word in enumerate(WORDS)},
            "unk_token": "[UNK]",
        },
    }
    path.write_text(json.dumps(content))


def mean_of(*words: str) -> list[float]:
    rows = TABLE[[WORDS.index(word) for word in ("[CLS]", *words, "[SEP]")]]
    total = rows.sum(axis=0)
    return [float(value) for value in total / np.linalg.norm(total)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    model = tmp_path / "tiny"
    model.mkdir()
    write_graph(model / "model.onnx")
    write_tokenizer(model / "tokenizer.json")
    return model


def test_tokens_are_averaged_whatever_the_padding(folder: Path) -> None:
    embedder = FolderEmbedder(folder)
    rows = [
        made.rows
        for made in embedder.embed_passages(["red green", "blue", "sky blue red green red"])
    ]
    assert [each.shape for each in rows] == [(1, WIDTH)] * 3
    assert rows[0][0].tolist() == pytest.approx(mean_of("red", "green"), abs=1e-6)
    assert rows[1][0].tolist() == pytest.approx(mean_of("blue"), abs=1e-6)
    assert embedder.embed_query("blue").vector.tolist() == pytest.approx(mean_of("blue"), abs=1e-6)
    assert embedder.model.name == "tiny"
    assert embedder.model.dimensions == WIDTH
    assert embedder.embed_passages([]) == []


@pytest.mark.parametrize("blank", ["", " ", "\ud800"], ids=ascii)
def test_blank_text_has_a_unit_vector(blank: str, folder: Path) -> None:
    vector = FolderEmbedder(folder).embed_query(blank).vector
    assert np.linalg.norm(vector) == pytest.approx(1)


def test_a_graph_may_want_type_ids_and_lie_in_its_own_folder(folder: Path) -> None:
    (folder / "model.onnx").unlink()
    write_graph(folder / "onnx" / "model.onnx", type_ids=True)
    vector = FolderEmbedder(folder).embed_query("red").vector
    assert vector.tolist() == pytest.approx(mean_of("red"), abs=1e-6)


def test_a_graph_that_pools_itself_is_taken_at_its_word(folder: Path) -> None:
    write_graph(folder / "model.onnx", pooled=True)
    expected = TABLE[[2, 6, 3]].max(axis=0)
    found = FolderEmbedder(folder).embed_query("red").vector
    assert found.tolist() == pytest.approx((expected / np.linalg.norm(expected)).tolist())


def test_the_settings_of_the_folder_are_followed(folder: Path) -> None:
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 4, "pooling_mode_cls_token": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    first = TABLE[2] / np.linalg.norm(TABLE[2])
    assert FolderEmbedder(folder).embed_query("red").vector.tolist() == pytest.approx(
        first.tolist()
    )


def test_prompts_become_prefixes(folder: Path) -> None:
    prompts = {"prompts": {"query": "query ", "document": "passage "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    embedder = FolderEmbedder(folder)
    assert embedder.embed_query("red").vector.tolist() == pytest.approx(mean_of("query", "red"))
    passage = embedder.embed_passages(["red"])[0].vector
    assert passage.tolist() == pytest.approx(mean_of("passage", "red"))


def test_a_long_text_becomes_parts_that_each_have_the_prefix(folder: Path) -> None:
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 11}')
    prompts = {"prompts": {"passage": "passage "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    embedder = FolderEmbedder(folder)
    words = ["red", "green", "blue", "sky"] * 4
    rows = [
        made.rows for made in embedder.embed_passages([" ".join(words[:8]), " ".join(words[:15])])
    ]
    assert [each.shape for each in rows] == [(1, WIDTH), (2, WIDTH)]
    assert rows[1][0].tolist() == pytest.approx(mean_of("passage", *words[:8]), abs=1e-6)
    assert rows[1][1].tolist() == pytest.approx(mean_of("passage", *words[7:15]), abs=1e-6)


def test_the_digest_covers_graph_tokenizer_and_settings(folder: Path) -> None:
    digests = [FolderEmbedder(folder).model.digest] * 2
    assert FolderEmbedder(folder).model.digest == digests[0]
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 11}')
    digests.append(FolderEmbedder(folder).model.digest)
    write_graph(folder / "model.onnx", type_ids=True)
    digests.append(FolderEmbedder(folder).model.digest)
    tokenizer = (folder / "tokenizer.json").read_text()
    (folder / "tokenizer.json").write_text(tokenizer + "\n")
    digests.append(FolderEmbedder(folder).model.digest)
    assert len(set(digests)) == 4


SPOILS = {
    "no graph": lambda folder: (folder / "model.onnx").unlink(),
    "no tokenizer": lambda folder: (folder / "tokenizer.json").unlink(),
    "a damaged graph": lambda folder: (folder / "model.onnx").write_bytes(b"\x00"),
    "a damaged tokenizer": lambda folder: (folder / "tokenizer.json").write_text("{"),
    "a tokenizer that is a list": lambda folder: (folder / "tokenizer.json").write_text("[]"),
    "a pooling that is not known": lambda folder: (
        (folder / "1_Pooling").mkdir(),
        (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_lasttoken": true}'),
    ),
}


@pytest.mark.parametrize("spoil", SPOILS)
def test_a_folder_that_cannot_be_used_is_refused(spoil: str, folder: Path) -> None:
    SPOILS[spoil](folder)
    with pytest.raises(ModelUnavailable) as refusal:
        FolderEmbedder(folder)
    assert str(folder) in refusal.value.reason or "graph" in spoil
