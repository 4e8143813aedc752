"""Which model embeds texts."""

from dataclasses import dataclass
from pathlib import Path

import platformdirs

from minutebook.config.kinds import COUNT, FOLDER, SECONDS, SWITCH, TEXT, path_or_name, setting
from minutebook.domain.reason import Reason


@dataclass(frozen=True, kw_only=True)
class EmbeddingSettings:
    """Which model embeds texts."""

    models: Path = setting(
        lambda: Path(platformdirs.user_cache_dir("minutebook", appauthor=False)) / "models",
        FOLDER,
        "Where prepared embedding models are kept; can be made again.",
    )
    embedder: str = setting(
        "built-in",
        path_or_name("embedder", Reason("built-in, endpoint, none, or a folder")),
        "`built-in`, `endpoint` (see endpoint_url), `none`, or a folder that holds model.onnx and "
        "tokenizer.json.",
    )
    embedding_wait: float = setting(
        10.0, SECONDS, "Seconds a call waits for a model that is still loading."
    )
    embedding_cache: int = setting(2048, COUNT, "How many embedded queries are kept in memory.")
    embedding_threads: int = setting(2, COUNT, "Processor cores the built-in model may use.")
    token_states: bool = setting(
        True,  # noqa: FBT003
        SWITCH,
        "`true`: what the built-in model makes of each token is kept beside the vectors: search ranks "
        "better, and a text takes some 50 bytes a token more.",
    )
    endpoint_url: str | None = setting(
        None,
        TEXT,
        "Base URL of an OpenAI-compatible embeddings service, such as http://localhost:8000/v1.",
    )
    endpoint_model: str | None = setting(None, TEXT, "Model name to ask the service for.")
    endpoint_key: str | None = setting(
        None, TEXT, is_secret=True, help="Bearer key for the service, if it wants one."
    )
    endpoint_query_prefix: str = setting(
        "", TEXT, "What the service's model wants before a question."
    )
    endpoint_passage_prefix: str = setting("", TEXT, "What it wants before a text to be found.")
