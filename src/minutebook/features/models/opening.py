"""Open the model that the settings name; the code of the others is not imported."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from minutebook.config import Settings
from minutebook.features.models.settings import ModelSettings
from minutebook.model import Embedding, Model
from minutebook.record.errors import InvalidInput

if TYPE_CHECKING:
    from minutebook.memory.journal.summarizers import Summarizer


def built_in(settings: Settings) -> Embedding:
    """Return the built-in model."""
    from minutebook.features.models.built_in import builtin, model_files

    return Embedding(builtin.open_model, builtin.MODEL, damage=model_files.damage)


def of_endpoint(settings: Settings) -> Embedding:
    """Return the model behind a service. Raises InvalidInput if settings of the service are missing."""
    settings = settings.of(ModelSettings)
    if settings.endpoint_url is None or settings.endpoint_model is None:
        raise InvalidInput("embedder", "= endpoint needs endpoint_url and endpoint_model as well")
    from minutebook.features.models.endpoint import EmbeddingEndpoint, open_endpoint

    endpoint = EmbeddingEndpoint(
        base_url=settings.endpoint_url,
        model=settings.endpoint_model,
        key=settings.endpoint_key,
        query_prefix=settings.endpoint_query_prefix,
        passage_prefix=settings.endpoint_passage_prefix,
    )
    expected = Model.unknown(settings.endpoint_model)
    return Embedding(partial(open_endpoint, endpoint), expected)


def of_folder(settings: Settings) -> Embedding:
    """Return the model in the folder that the setting `embedder` names."""
    from minutebook.features.models.local_model import FolderEmbedder

    folder = Path(settings.embedder)
    return Embedding(partial(FolderEmbedder, folder), Model.unknown(folder.name))


def chat_service(settings: Settings) -> "Summarizer | None":
    """Return the chat service that settings name, None if they name none.

    Raises InvalidInput if a URL is set without a model.
    """
    settings = settings.of(ModelSettings)
    if settings.summary_url is None:
        return None
    from minutebook.features.models.endpoint import Completion
    from minutebook.memory.journal.summarizers import Summarizer

    if settings.summary_model is None:
        raise InvalidInput("summary_url", "needs summary_model as well")
    service = Completion(settings.summary_url, settings.summary_model, settings.summary_key)
    return Summarizer(service.model, service.ask)
