"""Which embedder and which summarizer the settings name; the code of the others is not imported."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from minutebook.config import Settings
from minutebook.domain.errors import InvalidInput, ModelUnavailable
from minutebook.embedding import Embedder, Embedding, Model, builtin

if TYPE_CHECKING:
    from minutebook.services.journal.summarizers import Summarizer


@dataclass(frozen=True, slots=True)
class Models:
    """The models that settings name: for meaning, and for summaries where there is one."""

    embedding: Embedding
    summarizer: "Summarizer | None"


def models_of(settings: Settings) -> Models:
    """Choose the models that the settings name; nothing is loaded or asked yet. InvalidInput."""
    return Models(open_embedding(settings), open_summarizer(settings))


def unloaded_model(settings: Settings) -> tuple[str, str]:
    """Return the state of a model that nobody has loaded yet, and a person's remedy."""
    match settings.embedder:
        case "none":
            return "off", "`embedder` is none, so search is by words and graph"
        case "built-in" if not builtin.is_prepared(settings.models):
            return "not prepared", f"its first use does that, or {builtin.PREPARE}"
        case "built-in":
            return "prepared", ""
        case _:
            return "not loaded", ""


def open_summarizer(settings: Settings) -> "Summarizer | None":
    """Return the chat service that the settings name, None if they name none.

    Raises InvalidInput if a URL is set without a model.
    """
    if settings.summary_url is None:
        return None
    from minutebook.embedding.completion import Completion
    from minutebook.services.journal.summarizers import Summarizer

    if settings.summary_model is None:
        raise InvalidInput("summary_url", "needs summary_model as well")
    service = Completion(settings.summary_url, settings.summary_model, settings.summary_key)
    return Summarizer(service.model, service.ask)


def open_embedding(settings: Settings) -> Embedding:
    """Choose the embedder that the settings name; nothing is loaded yet."""
    built_in = None
    match settings.embedder:
        case "built-in":
            from minutebook.services.maintenance.model_preparation import BuiltInModel

            built_in = BuiltInModel(settings.models, settings.embedding_threads)
            opener: Callable[[], Embedder] = built_in.open
            expected = builtin.MODEL
        case "endpoint":
            opener, expected = _endpoint_opener(settings), _unknown(settings.endpoint_model)
        case "none":
            opener, expected = _switched_off, _unknown(None)
        case path:
            from minutebook.embedding.local_model import FolderEmbedder

            opener = partial(FolderEmbedder, Path(path), settings.embedding_threads)
            expected = _unknown(Path(path).name)
    is_off = settings.embedder == "none"
    return Embedding(
        opener, expected, settings.embedding_cache, is_off=is_off, preparation=built_in
    )


def _endpoint_opener(settings: Settings) -> Callable[[], Embedder]:
    if settings.endpoint_url is None or settings.endpoint_model is None:
        raise InvalidInput("embedder", "= endpoint needs endpoint_url and endpoint_model as well")
    from minutebook.embedding.endpoint import EmbeddingEndpoint, open_endpoint

    endpoint = EmbeddingEndpoint(
        base_url=settings.endpoint_url,
        model=settings.endpoint_model,
        key=settings.endpoint_key,
        query_prefix=settings.endpoint_query_prefix,
        passage_prefix=settings.endpoint_passage_prefix,
    )
    return partial(open_endpoint, endpoint)


def _unknown(name: str | None) -> Model:
    return Model(name or "none", digest="", dimensions=0)


def _switched_off() -> Embedder:
    raise ModelUnavailable("embedding is switched off", "choose another embedder in the settings")
