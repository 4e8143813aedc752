"""Cut a text into sentences that can stand alone: no code, no tables, no marks of a page."""

import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST = 300
"""Characters of a sentence; a longer one is cut between words."""

LEAST_LETTERS = 8
"""Letters without which a sentence says nothing by itself."""

_FENCED = re.compile(r"^[ \t]*(```+|~~~+).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[([^\]\n]{0,300})\]\([^)\n]{0,1000}\)")
_URL = re.compile(r"<?\b(?:https?|ftp|file|git|ssh|wss?)://\S*[^\s.,;:!?]", re.IGNORECASE)
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>+)[ \t]+(?:\[[ xX]\][ \t]+)?")
_MARKS = re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)|`")
_END = re.compile(
    r"(?:(?<=[.!?…])|(?<=[.!?…][\"'”’)\]]))\s+(?=[^\sa-z]|[\w-]+[/.]\w)|(?<=[。！？])(?![”’」』）])"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:(?<!\d\s)[A-Za-z]|e\.g|i\.e|etc|vs|cf|approx|no|fig|mr|mrs|ms|dr|st|prof|inc|ltd|al"
    r"|bzw|ca|usw|nr|evtl|ggf|std|sog|inkl|abs|art|sra?|pág|núm|aprox|máx|mín|tel|(?:am|dem|den|vom|zum|bis|der|des|ab|\w+tag,?|mittwoch,?) \d{1,2})\.$",
    re.IGNORECASE,
)
_CODE_LINE = re.compile(
    r"^\s*(?:[$>%]\s|>>>|\.\.\.|at \S+\(|File \"|[+-]{3} |@@ |[{}\[\]();,]+\s*$|\||//|/\*|\*/|import |from \S+ import "
    r"|def \w|class \w+[(:]|return\b.*[;)]$|(?:const|let|var|public|private|func|fn) \w|<[/\w!])"
)


class Piece(NamedTuple):
    """A sentence, and the sentence that announces the list in which it stands; empty if none does."""

    text: str
    lead: str = ""


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text in order, each on one line and without Markdown."""
    return (piece.text for piece in pieces(text))


def pieces(text: str) -> Iterator[Piece]:
    """Yield the sentences of a text in order, those of a list with its announcement."""
    text = _LINK.sub(r"\1", _FENCED.sub("\n\n", text))
    lead = ""
    for is_item, paragraph in _paragraphs(_URL.sub("", text)):
        for sentence in _cut(paragraph):
            if sum(map(str.isalpha, sentence)) >= LEAST_LETTERS:
                yield Piece(_shortened(sentence), lead if is_item else "")
            if not is_item:
                lead = sentence if sentence.endswith(":") else ""


def _paragraphs(text: str) -> Iterator[tuple[bool, str]]:
    """Join the lines of a paragraph; an item of a list is one, which is told; a line of code is none."""
    lines: list[str] = []
    is_item = False
    for line in text.splitlines():
        item = _ITEM.match(line)
        says_something = bool(line.strip()) and not _is_code(line)
        if item or not says_something:
            if lines:
                yield is_item, " ".join(lines)
            lines, is_item = [], item is not None
        if says_something:
            plain = line[item.end() :] if item else line
            lines.append(_MARKS.sub("", plain).strip())
    if lines:
        yield is_item, " ".join(lines)


def _cut(paragraph: str) -> Iterator[str]:
    kept = ""
    for piece in _END.split(paragraph):
        kept = f"{kept} {piece}" if kept else piece
        if not _ABBREVIATION.search(kept):
            yield kept.strip()
            kept = ""
    if kept:
        yield kept.strip()


def _is_code(line: str) -> bool:
    """Tell whether a line is code or a log's, by how it begins or by how few letters it has."""
    if _CODE_LINE.match(line) or line.rstrip().endswith((";", "{", "=>")):
        return True
    signs = line.replace("`", "").split()
    text = "".join(signs)
    return len(text) > 20 and sum(map(str.isalpha, text)) < 0.6 * len(text)


def _shortened(sentence: str) -> str:
    if len(sentence) <= LONGEST:
        return sentence
    kept = sentence[:LONGEST].rstrip()
    whole = kept.rsplit(" ", 1)[0] if " " in kept[LONGEST // 2 :] else kept
    return f"{whole.rstrip(',;:')}…"
