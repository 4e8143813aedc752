"""The steps of every change of a memory: it is checked, embedded outside the transaction, and stored in one transaction."""

from collections.abc import Callable
from dataclasses import replace

from minutebook.memory.embeddings import TextEmbedding
from minutebook.memory.infrastructure import Infrastructure
from minutebook.memory.knowledge.mentions import Mentions
from minutebook.memory.record_writer import RecordWriter
from minutebook.record.caller import Caller, Note
from minutebook.record.records import Kind, Memory, Version

Embed = Callable[[str], TextEmbedding | None]
"""Returns what is stored of an embedded text; None if it is embedded later."""

EMBEDDED_AT_ONCE = 20_000
"""The most bytes of text that are embedded before a call returns, some two seconds of work; the rest is embedded in the background."""

_FOUND_LATER = (
    "found by words at once, and by meaning when the background has embedded it; only then "
    "`minutebook list --alike` can tell what it repeats."
)

Rule = Callable[[Memory], Memory]
"""Checks a change of a memory and returns the changed memory; raises if the change is refused."""


UPDATE = "update"
"""The act that changes fields."""


class MemoryWriter(RecordWriter[Memory]):
    """Writes memories, with version and mentions."""

    def __init__(self, infrastructure: Infrastructure, mentions: Mentions) -> None:
        super().__init__(infrastructure)
        self._mentions = mentions

    def embed_for(self, caller: Caller) -> Embed:
        """Return a function that embeds a caller's texts, up to EMBEDDED_AT_ONCE bytes in all; it raises EmbeddingNotReady.

        It leaves the rest to the background, and notes in the call that they are found by words alone until then.
        """
        remaining, deferred = EMBEDDED_AT_ONCE, 0

        def embed(text: str) -> TextEmbedding | None:
            nonlocal remaining, deferred
            remaining -= len(text.encode("utf-8", "surrogatepass"))
            if remaining >= 0:
                return self._embeddings.embed_passage(text, caller.call.progress)
            if self._embeddings.is_expected:
                deferred += 1
                caller.call.notes["meaning"] = _deferral_note(deferred)
            return None

        return embed

    def _put_further(self, caller: Caller, memory: Memory) -> None:
        self._store.put(
            Version(
                organization=memory.organization,
                id=version_id(memory.id, memory.version),
                memory=memory.id,
                number=memory.version,
                content=memory.content,
                title=memory.title,
                changed_by=caller.name,
                changed_at=memory.updated_at,
                request=caller.call.request,
                origin=caller.call.origin,
            )
        )
        self._mentions.note(memory)

    def change(
        self,
        caller: Caller,
        act: str,
        find: Callable[[], Memory],
        rule: Rule,
        embed: Embed | None = None,
    ) -> Memory:
        """Change a memory by a rule; a new text makes a new version and new vectors.

        `find` returns the memory, or raises; it is called again inside the transaction, since the
        memory may have changed while its new text was embedded. An update that changes nothing is not
        audited, except under the governance contract, which demands an audit entry for each act.
        """
        earlier = find()
        subject = (caller, earlier.organization, act, Kind.MEMORY, earlier.id)
        with self._trail.audit_refusals(*subject):
            text = self.screened(caller, rule(earlier), earlier).text
        embedding = None if text == earlier.text else (embed or self.embed_for(caller))(text)
        with self._trail.audited(*subject) as audit:
            current = find()
            changed = self.screened(caller, rule(current), current)
            audit.check(current, changed)
            if changed == current and act == UPDATE and not caller.governed:
                audit.changes_nothing()
                return current
            if changed.text == current.text:
                self._store.put(changed)
            else:
                changed = replace(changed, version=current.version + 1)
                self.put(caller, changed, embedding if changed.text == text else None)
            audit.changes(current.text, changed.text)
        self.announce(() if changed.text == earlier.text else (embedding,))
        return changed


def _deferral_note(texts: int) -> Note:
    """Return the note on the number of texts that are left to the background."""
    facts = {"state": "ready", "pending": texts}
    if texts == 1:
        return Note(facts, f"Long, so it is {_FOUND_LATER}")
    return Note(facts, f"{texts:,} of these texts, which are long together, are {_FOUND_LATER}")


def version_id(memory: str, number: int) -> str:
    """Return the id of a version of a memory."""
    return f"{memory}.{number}"
