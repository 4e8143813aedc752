"""The tokenizer by its published rules (Kudo 2018), in plain Python: slow, and easy to check."""

import numpy as np

from tools.models.e5 import Vocabulary

BLANK = "\u2581"
UNKNOWN_PENALTY = np.float32(10)


class Unigram:
    def __init__(self, vocabulary: Vocabulary, rules: dict[str, str]) -> None:
        special = {vocabulary.begin, vocabulary.end, vocabulary.pad, vocabulary.unknown}
        self.scores = {
            piece.decode(): (id, np.float32(score))
            for id, (piece, score) in enumerate(
                zip(vocabulary.pieces, vocabulary.scores, strict=True)
            )
            if id not in special and piece != b"<mask>"
        }
        self.unknown = vocabulary.unknown
        self.unknown_score = min(score for _, score in self.scores.values()) - UNKNOWN_PENALTY
        self.longest_piece = max(map(len, self.scores))
        self.rules = rules
        self.longest_rule = max(map(len, rules))

    def normalised(self, text: str) -> str:
        """Apply the longest rule at each place, then collapse and mark the blanks."""
        out, at = [], 0
        while at < len(text):
            for length in range(self.longest_rule, 0, -1):
                source = text[at : at + length]
                if len(source) == length and source in self.rules:
                    out.append(self.rules[source])
                    at += length
                    break
            else:
                out.append(text[at])
                at += 1
        words = [word for word in "".join(out).split(" ") if word]
        return "".join(BLANK + word for word in words)

    def ids(self, text: str) -> list[int]:
        """Find the segmentation of the greatest score; the first found wins a tie."""
        line = self.normalised(text)
        best: list[tuple[np.float32, int, int] | None] = [None] * (len(line) + 1)
        best[0] = (np.float32(0), 0, -1)
        for start in range(len(line)):
            reached = best[start]
            assert reached is not None
            single = False
            for stop in range(start + 1, min(start + self.longest_piece, len(line)) + 1):
                found = self.scores.get(line[start:stop])
                if found is not None:
                    single = single or stop == start + 1
                    score = reached[0] + found[1]
                    known = best[stop]
                    if known is None or score > known[0]:
                        best[stop] = (score, start, found[0])
            if not single:
                score = reached[0] + self.unknown_score
                known = best[start + 1]
                if known is None or score > known[0]:
                    best[start + 1] = (score, start, self.unknown)
        ids: list[int] = []
        at = len(line)
        while at > 0:
            step = best[at]
            assert step is not None
            _, at, id = step
            if not (id == self.unknown and ids and ids[-1] == self.unknown):
                ids.append(id)
        return ids[::-1]
