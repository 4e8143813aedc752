"""Which embedder and which chat service the settings name; features open them."""

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
    """The models that settings name: for meaning, and for summaries where there is one."""

    embedding: Embedding
    summarizer: "Summarizer | None"


def models_of(settings: Settings) -> Models:
    """Choose the models that the settings name; nothing is loaded or asked yet. Raises InvalidInput."""
    services = (open_it(settings) for open_it in entries_of("models.chat"))
    return Models(open_embedding(settings), next(filter(None, services), None))


def open_embedding(settings: Settings) -> Embedding:
    """Choose the embedder that the settings name; nothing is loaded yet. It is off where no feature opens it."""
    if settings.embedder != "none":
        for name in (settings.embedder, ""):
            for feature in features():
                if opener := feature.models.embedders.get(name):
                    embedding: Embedding = feature.load(opener)(settings)
                    return embedding
    return Embedding(_switched_off, Model.unknown("none"), is_off=True)


def _switched_off() -> Embedder:
    raise ModelUnavailable("embedding is switched off", "choose another embedder in the settings")
