"""The embedder and the chat service that the settings name; features open them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from minutebook.config import Settings
from minutebook.feature import entries_of, features
from minutebook.model import Embedder, Embedding, Model
from minutebook.record.errors import ModelUnavailable

if TYPE_CHECKING:
    from minutebook.memory.journal.summarizers import Summarizer


@dataclass(frozen=True, slots=True)
class Models:
    """The models that settings name: the embedder, and the summarizer or None."""

    embedding: Embedding
    summarizer: "Summarizer | None"


def models_of(settings: Settings) -> Models:
    """Return the models that the settings name; nothing is loaded yet. Raises InvalidInput if settings do not fit together."""
    services = (open_service(settings) for open_service in entries_of("models.chat"))
    return Models(open_embedding(settings), next(filter(None, services), None))


def open_embedding(settings: Settings) -> Embedding:
    """Return the embedder that the settings name; nothing is loaded yet. It is off if no feature has it."""
    if settings.embedder != "none":
        for name in (settings.embedder, ""):
            for feature in features():
                if opener := feature.models.embedders.get(name):
                    embedding: Embedding = feature.load(opener)(settings)
                    return embedding
    return Embedding(_switched_off, Model.unknown("none"), is_off=True)


def _switched_off() -> Embedder:
    raise ModelUnavailable("embedding is switched off", "choose another embedder in the settings")
