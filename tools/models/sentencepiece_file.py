"""The vocabulary of multilingual-e5-small as a SentencePiece model.

The vocabulary and the single-character rules come from the weights file. The rules for sequences
(`e` and a combining acute make `é`) come from SentencePiece's own `nmt_nfkc` table, less those that
involve characters for which the model's older table has no rule, or another one.
"""

import struct

import sentencepiece

from tools.models.e5 import Vocabulary

_NORMAL, _UNKNOWN, _CONTROL = 1, 2, 3
_MASK = b"<mask>"


def serialised_model(vocabulary: Vocabulary) -> bytes:
    """Write the vocabulary as a SentencePiece model, with the ids of the weights file."""
    control = {vocabulary.begin, vocabulary.end, vocabulary.pad}
    parts = []
    for id, (piece, score) in enumerate(zip(vocabulary.pieces, vocabulary.scores, strict=True)):
        kind = _CONTROL if id in control or piece == _MASK else _NORMAL
        kind = _UNKNOWN if id == vocabulary.unknown else kind
        entry = _field(1, piece) + b"\x15" + struct.pack("<f", score) + b"\x18" + bytes([kind])
        parts.append(_field(1, entry))
    ids = {40: vocabulary.unknown, 41: vocabulary.begin, 42: vocabulary.end, 43: vocabulary.pad}
    trainer = b"".join(_varint(number << 3) + _varint(id) for number, id in ids.items())
    return b"".join(parts) + _field(2, trainer) + _field(3, _normaliser(vocabulary.characters))


def rules(characters: dict[str, str]) -> dict[str, str]:
    """Join the model's single-character rules with the table's rules for sequences."""
    table = dict(sentencepiece.SentencePieceNormalizer(rule_name="nmt_nfkc").decompile())
    foreign = {
        source
        for source, target in table.items()
        if len(source) == 1 and characters.get(source) != target
    }
    sequences = {
        source: target
        for source, target in table.items()
        if len(source) > 1 and foreign.isdisjoint(source)
    }
    return sequences | characters


def _normaliser(characters: dict[str, str]) -> bytes:
    sentencepiece.SetMinLogLevel(2)  # it reports the table's size on stderr
    normaliser = sentencepiece.SentencePieceNormalizer(
        norm_map=list(rules(characters).items()),
        add_dummy_prefix=True,
        remove_extra_whitespaces=True,
        escape_whitespaces=True,
    )
    return normaliser.serialized_normalizer_spec()


def _varint(value: int) -> bytes:
    """Encode a number as protocol buffers do."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _field(number: int, payload: bytes) -> bytes:
    """Encode a length-delimited field of a protocol buffer."""
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload
