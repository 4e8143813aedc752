"""Search the relations of the entities that a question names; each is a text that can be a hit."""

from collections import OrderedDict
from collections.abc import Collection
from datetime import datetime
from heapq import nsmallest

import numpy as np

from minutebook.memory.access.visibility import Records, View
from minutebook.memory.embeddings import Embeddings, TextEmbedding
from minutebook.memory.search.signals import Asked, Key, Signals
from minutebook.record.records import Entity, Relation, RelationText
from minutebook.record.trust.acts import RELATE
from minutebook.store.values import Tie
from minutebook.text.coverage import coverage
from minutebook.text.words import TextQuery, word_terms

EDGES = 200
"""The most relations of the named entities that are read, the heaviest first."""

COMPARED = 8
"""How many relations are compared with the question: those that share most words with it, then the heaviest."""

REMEMBERED = 4096
"""The most texts of relations whose embeddings are remembered, once they were needed."""


_UNKNOWN = "unknown"
"""The author of a relation without an audit entry of its own, such as an imported one."""


class RelationSearch:
    """Finds the relations of the entities that a question names."""

    def __init__(self, store: Records, embeddings: Embeddings) -> None:
        self._store = store
        self._embeddings = embeddings
        self._embedded: OrderedDict[str, TextEmbedding] = OrderedDict()

    def add(
        self,
        view: View,
        asked: Asked,
        named: Collection[str],
        at: datetime | None,
        found: Signals,
    ) -> dict[Key, RelationText]:
        """Add the signals of the relations around the named entities, up to an instant; return the relations."""
        if not named:
            return {}
        around = view.where(equal={}, client=None, since=None, until=None, valid_at=None)
        texts = self._texts(around, set(named), asked.parsed, at)
        read = {(each.organization, each.id): each for each in texts}
        embedding = asked.embedding
        if embedding is None or found.vector is None:
            self._cover(asked.parsed, read, found)
            return {key: each for key, each in read.items() if key in found.lexical}
        for key, each in read.items():
            embedded = self._embed(each.text)
            if embedded is None:
                continue
            found.vector[key] = float((embedded.vectors @ embedding.vector).max())
            if embedding.question is not None and embedded.states is not None:
                cosine = np.array([found.vector[key]], np.float32)
                found.late[key] = float(embedding.question.scores([embedded.states], cosine)[0])
            found.graph = {**(found.graph or {}), key: found.likeness(key)}
        return {key: each for key, each in read.items() if key in found.vector}

    def _texts(
        self, around: View, named: set[str], parsed: TextQuery, at: datetime | None
    ) -> list[RelationText]:
        """Return the relations to compare, of those with both ends visible to the caller."""
        ties = [tie for tie in around.ties(sorted(named), EDGES) if tie.of is Relation]
        ids = frozenset(end for tie in ties for end in (tie.source, tie.target))
        entities = {each.id: each for each in around.where(ids=ids).find(Entity)}
        seen = [tie for tie in ties if tie.source in entities and tie.target in entities]
        terms = frozenset(parsed.terms)

        def order(tie: Tie) -> tuple[float, ...]:
            sentence = sentence_of(tie, entities)
            return -len(terms.intersection(word_terms(sentence))), -tie.weight

        best = nsmallest(COMPARED, seen, key=order)
        chosen = frozenset(tie.id for tie in best)
        here = around.where(ids=chosen)
        edges = {each.id: each for each in here.find(Relation)}
        return [
            RelationText(
                organization=around.organization,
                id=tie.id,
                sentence=sentence_of(tie, entities),
                at=edges[tie.id].created_at,
                author=self._author_of(edges[tie.id]),
                origin=edges[tie.id].origin,
            )
            for tie in best
            if tie.id in edges and (at is None or edges[tie.id].created_at <= at)
        ]

    def _author_of(self, relation: Relation) -> str:
        """Return the author of a relation by the audit trail; if that has none, the importer named in its origin."""
        first = self._store.first_act(relation, RELATE)
        brought = "" if relation.origin is None else relation.origin.brought
        return brought or _UNKNOWN if first is None else first.actor

    def _embed(self, text: str) -> TextEmbedding | None:
        """Return the embedding of a relation's sentence, remembered or new; None if the model fails."""
        embedded = self._embedded.pop(text, None) or self._embeddings.try_embed_passage(text)
        if embedded is not None:
            self._embedded[text] = embedded
            while len(self._embedded) > REMEMBERED:
                self._embedded.popitem(last=False)
        return embedded

    def _cover(self, parsed: TextQuery, read: dict[Key, RelationText], found: Signals) -> None:
        """Add the part of the question's words that each relation has, which counts if there is no model."""
        terms_of = {key: frozenset(word_terms(each.text)) for key, each in read.items()}
        holding = [
            [key for key, terms in terms_of.items() if not terms.isdisjoint(forms)]
            for forms in parsed.words
        ]
        for key, part in coverage(terms_of, holding).items():
            if part > 0:
                found.covered[key], found.lexical[key] = part, float(part)


def sentence_of(tie: Tie | Relation, entities: dict[str, Entity]) -> str:
    """Return a relation in words: its two ends by name, its type between them."""
    return f"{entities[tie.source].name} —{tie.type}→ {entities[tie.target].name}"
