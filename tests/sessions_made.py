"""Sessions to store: from LoCoMo's conversations where they are, and made up ones for any clone."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

LOCOMO = Path(__file__).resolve().parents[2] / "shared" / "data" / "locomo-dev.json"
"""Not ours to ship (CC BY-NC 4.0)."""

_EVIDENCE = re.compile(r"D\d+:\d+")
_ANSWERED = (1, 2, 4)
"""The categories whose questions have an answer in single turns."""


@dataclass(frozen=True, slots=True)
class Said:
    """A turn to store: its session, and its three texts."""

    session: str
    prompt: str
    thought: str
    response: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in order, and questions, each with the places of the turns that answer it."""

    turns: list[Said]
    questions: list[tuple[str, frozenset[int]]]


def locomo(number: int) -> Conversation:
    """Make turns of one of LoCoMo's conversations: what one said, and what the other answered."""
    told = json.loads(LOCOMO.read_text(encoding="utf-8"))[number]
    conversation = told["conversation"]
    names = [name for name in conversation if re.fullmatch(r"session_\d+", name)]
    turns: list[Said] = []
    place: dict[str, int] = {}
    for name in sorted(names, key=lambda name: int(name.partition("_")[2])):
        when = conversation[f"{name}_date_time"]
        told_there = conversation[name]
        for pair in (told_there[at : at + 2] for at in range(0, len(told_there), 2)):
            place |= {each["dia_id"]: len(turns) for each in pair}
            texts = [f"{each['speaker']}: {each['text']}" for each in pair]
            seen = [each["blip_caption"] for each in pair if "blip_caption" in each]
            thought = f"{when}. {' '.join(seen)}".strip()
            turns.append(Said(f"locomo {name}", texts[0], thought, "".join(texts[1:])))
    questions = []
    for each in told["qa"]:
        evidence = _EVIDENCE.findall(" ".join(each["evidence"]))
        known = frozenset(place[id] for id in evidence if id in place)
        if each["category"] in _ANSWERED and known:
            questions.append((each["question"], known))
    return Conversation(turns, questions)


_PARTS = ("parser", "cache", "scheduler", "importer", "mailer", "gateway", "billing")
_FAULTS = (
    ("crashes on an empty file", "returned early when the file holds no line", "guard.py"),
    ("forgets entries after an hour", "raised the time to live to a day", "expiry.py"),
    ("runs each job twice", "took a lock before the queue is read", "queue.py"),
    ("loses umlauts in names", "opened the stream as UTF-8", "reader.py"),
    ("answers too slowly under load", "added an index on the customer's number", "tables.sql"),
)
_STEPS = (
    ("Where does the {part} fail when it {fault}?", "It fails in src/{part}/{file}, line {line}."),
    ("Mend the {part} that {fault}.", "I {mend} in src/{part}/{file}; the error is gone."),
    ("Add a test of that.", "tests/{part}/test_{file} holds the {part} to it, 12 passed."),
    ("Which ticket was it for the {part}?", "Ticket {part}-{line}, opened by the support desk."),
    ("Write it into the changelog.", "CHANGELOG.md says that the {part} no longer {fault}."),
    ("Commit it.", "Committed: the {part} {mend}."),
)


def made_up(parts: int = len(_PARTS)) -> Conversation:
    """Make sessions of work on a program, each about a fault of one of its first parts."""
    turns: list[Said] = []
    questions = []
    for row, part in enumerate(_PARTS[:parts]):
        for column, (fault, mend, file) in enumerate(_FAULTS):
            line = 100 + 10 * row + column
            facts = {"part": part, "fault": fault, "mend": mend, "file": file, "line": line}
            session = f"{part} {column}"
            asked = f"what was done when the {part} {fault}"
            questions.append((asked, frozenset(range(len(turns), len(turns) + len(_STEPS)))))
            for prompt, response in _STEPS:
                thought = f"The {part} is at fault: it {fault}."
                turns.append(
                    Said(session, prompt.format(**facts), thought, response.format(**facts))
                )
    return Conversation(turns, questions)
