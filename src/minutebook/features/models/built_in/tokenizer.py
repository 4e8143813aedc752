"""Split text into word pieces and their ids: XLM-RoBERTa's SentencePiece unigram model."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
import sentencepiece
from numpy.typing import NDArray

from minutebook.model.protocol import without_surrogates

STRETCH = 16_384
"""The most characters tokenized at once; a longer text is cut, at a blank if there is one."""

LEAST_SURPRISE = 1e-3
"""The least surprise of a piece with a letter or digit; that of others is 0."""


class Tokenizer:
    """Splits texts as the model was trained to; special tokens in a text are ordinary text."""

    def __init__(self, path: Path) -> None:
        self._processor = _processor(path)
        self.begin: int = self._processor.bos_id()
        self.end: int = self._processor.eos_id()

    def ids(self, text: str, limit: int | None = None) -> list[int]:
        """Return the ids of a text, or its first `limit`, in memory bounded by their number.

        Lone surrogates are read as U+FFFD, which the model's table makes a blank. A word longer
        than STRETCH characters is cut there, which may change the pieces at the seam.
        """
        found: list[int] = []
        for stretch in _stretches(without_surrogates(text)):
            found += self._processor.encode(stretch)
            if limit is not None and len(found) >= limit:
                return found[:limit]
        return found

    def spell(self, ids: Sequence[int]) -> list[str]:
        """Return the texts of pieces; the first piece of a word begins with `▁`."""
        return list(self._processor.id_to_piece(list(ids)))

    def surprise(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Return −log of each piece's frequency, shape (ids,); 0 if it has neither letter nor digit."""
        pieces = self._processor.id_to_piece(list(ids))
        scores = self._processor.get_score(list(ids))
        values = [
            max(-score, LEAST_SURPRISE) if any(map(str.isalnum, piece)) else 0.0
            for piece, score in zip(pieces, scores, strict=True)
        ]
        return np.array(values, np.float32)


_PROCESSORS: WeakValueDictionary[tuple[int, ...], sentencepiece.SentencePieceProcessor] = (
    WeakValueDictionary()
)
"""The processors in use, by device, inode, time and size of their file: to load one takes 0.4 s."""


def _processor(path: Path) -> sentencepiece.SentencePieceProcessor:
    """Load a model, or return the one in use if the file is the same. Raises OSError if it cannot."""
    status = path.stat()
    key = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
    if (processor := _PROCESSORS.get(key)) is None:
        processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        _PROCESSORS[key] = processor
    return processor


def _stretches(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > STRETCH:
        stop = start + STRETCH
        seam = max(text.rfind(" ", start + 1, stop), text.rfind("\n", start + 1, stop))
        if seam > start:
            stop = seam
        yield text[start:stop]
        start = stop
    yield text[start:]
