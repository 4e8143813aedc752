"""The English model: all-MiniLM-L6-v2, with uncased word pieces and mean pooling."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minutebook.features.models.built_in.model_files import VOCABULARY, WIDTH, Floats
from minutebook.features.models.built_in.windows import WindowedModel
from minutebook.model.protocol import unit, without_surrogates
from minutebook.text.folding import folded
from minutebook.text.languages import is_function_word
from minutebook.text.late_interaction import SignedTokens, TokenStates, signs_of
from minutebook.text.words import languages_of

POSITIONS = 256
"""The longest input of the model in tokens, special tokens included."""
OVERLAP = 32
"""The least number of tokens that neighbouring windows of a long text share."""

_BEGIN, _END, _UNKNOWN = 101, 102, "[UNK]"
_FIRST_WORD = 1996
"""The id of the most frequent word; later ids are of rarer words, earlier ones of single characters."""
_RANK_OF_CHARACTER = 20
"""The assumed rank of single characters among words."""

LANGUAGE_CHARACTERS = 8_000
"""Characters of a text by which its language is determined."""

LATIN, FIRST_OTHER = 0.8, "\u0250"
"""A text with at most this share of letters before FIRST_OTHER is not English."""

SPLIT = (0.0, 0.25, 1.0)
"""The most continuation pieces for each word of an English text that may be of several languages, if it has fewer function
words of English than of another language, as many, or more: English pieces split few English words."""

_WORD = re.compile(r"[^\W\d_]+")

Share = tuple[float, float]
"""The begin and end of a part of a text, as fractions of its tokens in [0, 1]."""


@dataclass(frozen=True, slots=True)
class EnglishText:
    """The result for a text: its tokens, and one unit vector for each part, shape (parts, WIDTH)."""

    tokens: SignedTokens
    rows: Floats


class EnglishModel:
    """The English model; safe to call from several threads."""

    def __init__(self) -> None:
        self._pieces = VOCABULARY.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        self._tokenizer = _tokenizer(self._pieces)
        self._model = WindowedModel("english", POSITIONS, OVERLAP, _END)
        self._surprise = _surprises(self._pieces)

    def ids(self, text: str) -> list[int]:
        """Return the word pieces of a text, as ids."""
        encoded = self._tokenizer.encode(without_surrogates(text), add_special_tokens=False)
        ids: list[int] = encoded.ids
        return ids

    def is_english(self, text: str) -> bool:
        """Tell whether a text is in English, by its function words and, if they allow other languages, by its split words."""
        beginning = text[:LANGUAGE_CHARACTERS]
        letters = [character for character in beginning if character.isalpha()]
        if sum(each < FIRST_OTHER for each in letters) <= LATIN * len(letters):
            return False
        languages = languages_of(beginning)
        others = [each for each in languages if each != "english"]
        if not others or len(others) == len(languages):
            return not others and bool(languages)
        words = _WORD.findall(folded(beginning).casefold())
        own, *counts = (
            sum(is_function_word(word, (each,)) for word in words) for each in ("english", *others)
        )
        pieces = (self._pieces[id] for id in self.ids(beginning))
        continued = sum(piece.startswith("##") and piece[2:].isalpha() for piece in pieces)
        most = max(counts)
        return continued <= SPLIT[1 + (own > most) - (own < most)] * len(words)

    def ask(self, text: str) -> tuple[Floats, TokenStates]:
        """Return the unit vector of a question, shape (WIDTH,), and its tokens; those beyond one window are cut off."""
        ids = self.ids(text)[: self._model.room((_BEGIN,))]
        (read,) = self._model.read((_BEGIN,), [ids])
        pieces = np.array(ids, np.int32)
        return read.vector, TokenStates(pieces, self._surprise[pieces], read.states)

    def read(self, texts: Sequence[str], parts: Sequence[Sequence[Share]]) -> list[EnglishText]:
        """Return the tokens and vectors of texts; `parts` are the parts of each."""
        ids = [self.ids(text) for text in texts]
        signs = [np.empty((len(own), WIDTH // 8), np.uint8) for own in ids]
        rows = [np.zeros((len(own), WIDTH), np.float32) for own in parts]
        for each in self._model.read((_BEGIN,), ids):
            text, own = each.window.text, each.window.own
            signs[text][own] = signs_of(each.states)
            for row, share in zip(rows[text], parts[text], strict=True):
                is_whole = own == slice(0, len(ids[text]))
                if is_whole and (share == (0, 1) or not ids[text]):
                    row += each.vector
                else:
                    row += _states_in_share(each.states, own, share, len(ids[text])).sum(axis=0)
        return [
            EnglishText(SignedTokens(pieces, self._surprise[pieces], own_signs), unit(own_rows))
            for pieces, own_signs, own_rows in zip(
                (np.array(own, np.int32) for own in ids), signs, rows, strict=True
            )
        ]


def _states_in_share(states: Floats, own: slice, share: Share, tokens: int) -> Floats:
    """Return the states of a window, which has the tokens `own` of a text, in a share of the text's tokens."""
    first, last = (round(each * tokens) for each in share)
    # A share without a token of its own gets the token that it lies in.
    first = min(first, tokens - 1)
    last = max(last, first + 1)
    return states[max(0, first - own.start) : max(0, last - own.start)]


def shares(cuts: Sequence[tuple[int, int]], tokens: int) -> list[Share]:
    """Return the shares of a text for parts with first token and end `cuts`."""
    return [(first / max(1, tokens), last / tokens if tokens else 1.0) for first, last in cuts]


def _tokenizer(pieces: Sequence[str]) -> Any:
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    tokenizer = Tokenizer(
        WordPiece({piece: id for id, piece in enumerate(pieces)}, unk_token=_UNKNOWN)
    )
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer


def _surprises(pieces: Sequence[str]) -> Floats:
    """Return −log of each piece's frequency, estimated from its rank (Zipf), shape (pieces,); 0 without letter or digit."""
    rank = np.arange(len(pieces)) - _FIRST_WORD + 1
    rank[:_FIRST_WORD] = _RANK_OF_CHARACTER
    has_word_characters = np.array([any(map(str.isalnum, piece)) for piece in pieces])
    surprise: Floats = np.where(
        has_word_characters, np.log(rank) + np.log(np.log(len(pieces))), 0
    ).astype(np.float32)
    return surprise
