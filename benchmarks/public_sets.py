"""Read public sets of documents and questions: LoCoMo, LongMemEval, CoSQA, XQuAD and SQuAD; and our own lines."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.finding import datasets
from benchmarks.finding.datasets import Collection, Dataset, Document, Query


def read(path: Path, split: str | None = None) -> Dataset:
    """Read a data set, in the form that its first object shows. Raises InvalidInput as `datasets.read` does."""
    rows = datasets.rows_of(path)
    form = _form_of(rows)
    return datasets.read(path, split) if form is None else FORMS[form](path.stem, rows)


def _form_of(data: Sequence[Any]) -> str | None:
    """Tell the public form by the fields of the first object; None for lines of our own."""
    first = data[0] if data and isinstance(data[0], dict) else {}
    signs = {
        "locomo": {"conversation", "qa"},
        "longmemeval": {"haystack_sessions", "question"},
        "xquad": {"translations", "questions"},
        "squad": {"paragraphs"},
        "cosqa": {"code"},
    }
    return next((form for form, names in signs.items() if names <= first.keys()), None)


_LOCOMO_CATEGORIES = {
    1: "1 multi-hop",
    2: "2 temporal",
    3: "3 open-domain",
    4: "4 single-hop",
    5: "5 adversarial",
}


def _locomo(name: str, rows: list[Any]) -> Dataset:
    """LoCoMo (Maharana et al., 2024): a collection a conversation, a document a turn.

    A turn with a picture ends in its caption. An evidence id that names no turn is left out, and so
    is a question that has no other.
    """
    collections, without, unknown = [], 0, 0
    for row in rows:
        turns = {
            turn["dia_id"]: Document(id=turn["dia_id"], text=_said(turn), session=session)
            for session, spoken in row["conversation"].items()
            if re.fullmatch(r"session_\d+", session)
            for turn in spoken
        }
        queries = []
        for number, entry in enumerate(row["qa"]):
            named = [id for text in entry["evidence"] for id in re.split(r"[;,\s]+", text) if id]
            evidence = {id: 1.0 for id in named if id in turns}
            unknown += sum(id not in turns for id in named)
            without += not evidence
            category = entry["category"]
            groups = (*(("1–4",) if category < 5 else ()), _LOCOMO_CATEGORIES[category])
            if evidence:
                id = f"{row['sample_id']} {number}"
                queries.append(
                    Query(id=id, text=entry["question"], relevant=evidence, groups=groups)
                )
        collections.append(
            Collection(name=row["sample_id"], documents=list(turns.values()), queries=queries)
        )
    left_out = {"questions without evidence": without, "evidence that names no turn": unknown}
    return Dataset(name, "locomo", collections, left_out)


def _said(turn: Mapping[str, Any]) -> str:
    caption = turn.get("blip_caption")
    line = f"{turn['speaker']}: {turn['text']}"
    return f"{line} [shares: {caption}]" if caption else line


def _longmemeval(name: str, rows: list[Any]) -> Dataset:
    """LongMemEval (Wu et al., 2024): a collection a question, a document a turn.

    Turns are relevant that are marked `has_answer`; a question whose id ends in `_abs` has no answer.
    """
    collections, unmarked = [], 0
    for row in rows:
        documents: list[Document] = []
        relevant: dict[str, float] = {}
        for session, spoken in zip(
            row["haystack_session_ids"], row["haystack_sessions"], strict=True
        ):
            for number, turn in enumerate(spoken):
                id = f"{session} {number}"
                text = f"{turn['role']}: {turn['content']}"
                documents.append(Document(id=id, text=text, session=session))
                if turn.get("has_answer"):
                    relevant[id] = 1.0
        abstains = row["question_id"].endswith("_abs")
        if not relevant and not abstains:
            unmarked += 1
            continue
        query = Query(
            id=row["question_id"],
            text=row["question"],
            relevant={} if abstains else relevant,
            groups=("abstention" if abstains else row["question_type"],),
            sessions=frozenset() if abstains else frozenset(row["answer_session_ids"]),
        )
        collections.append(
            Collection(name=row["question_id"], documents=documents, queries=[query])
        )
    return Dataset(name, "longmemeval", collections, {"questions without a marked turn": unmarked})


def _cosqa(name: str, rows: list[Any]) -> Dataset:
    """CoSQA (Huang et al., 2021): a question a function; all functions of the file are the pool."""
    documents: dict[str, Document] = {}
    queries = []
    for number, row in enumerate(rows):
        code = documents.setdefault(row["code"], Document(id=f"f{number}", text=row["code"]))
        id = str(row.get("id") or row.get("idx") or number)
        text = row["query"] if "query" in row else row["doc"]
        queries.append(Query(id=id, text=text, relevant={code.id: 1.0}))
    collection = Collection(
        name=name, documents=list(documents.values()), queries=queries, is_code=True
    )
    return Dataset(name, "cosqa", [collection])


def _squad(name: str, rows: list[Any]) -> Dataset:
    """SQuAD (Rajpurkar et al., 2016) and XQuAD as published: paragraphs, each with its questions."""
    documents: list[Document] = []
    queries: list[Query] = []
    for paragraph in chain.from_iterable(article["paragraphs"] for article in rows):
        id = f"p{len(documents)}"
        documents.append(Document(id=id, text=paragraph["context"]))
        for entry in paragraph["qas"]:
            relevant = {} if entry.get("is_impossible") else {id: 1.0}
            queries.append(Query(id=entry["id"], text=entry["question"], relevant=relevant))
    return Dataset(name, "squad", [Collection(name=name, documents=documents, queries=queries)])


def _xquad(name: str, rows: list[Any]) -> Dataset:
    """XQuAD (Artetxe et al., 2020) by paragraph: a text, `translations` and `questions` by language.

    Questions of every language are asked of the English paragraphs, and those of a translated
    language of the paragraphs in it.
    """
    languages = list(dict.fromkeys(code for row in rows for code in row["translations"]))
    collections = []
    for language in ("en", *languages):
        documents: list[Document] = []
        queries: list[Query] = []
        for index, row in enumerate(rows):
            id = f"p{index}"
            text = row["text"] if language == "en" else row["translations"][language]
            documents.append(Document(id=id, text=text))
            for number, question in enumerate(row["questions"]):
                for code in question if language == "en" else [language]:
                    way = "of English paragraphs" if language == "en" else "within one language"
                    queries.append(
                        Query(
                            id=f"{id} {number} {code}",
                            text=question[code],
                            relevant={id: 1.0},
                            groups=(way, f"{code} → {language}"),
                        )
                    )
        collections.append(Collection(name=language, documents=documents, queries=queries))
    return Dataset(name, "xquad", collections)


FORMS: Mapping[str, Callable[[str, list[Any]], Dataset]] = {
    "locomo": _locomo,
    "longmemeval": _longmemeval,
    "cosqa": _cosqa,
    "squad": _squad,
    "xquad": _xquad,
}
"""The public forms, by name."""
