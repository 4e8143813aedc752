"""The settings of services that embed texts or summarize sessions."""

from dataclasses import dataclass

from minutebook.config.kinds import TEXT, setting
from minutebook.config.settings import Settings


@dataclass(frozen=True, kw_only=True)
class ModelSettings(Settings):
    """Which services embed texts and summarise sessions."""

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
    summary_url: str | None = setting(
        None,
        TEXT,
        "Base URL of an OpenAI-compatible chat service that summarises sessions where the client has "
        "no model to ask, such as http://localhost:8000/v1; what was said in a session goes there.",
    )
    summary_model: str | None = setting(None, TEXT, "Model name to ask that service for.")
    summary_key: str | None = setting(
        None, TEXT, is_secret=True, help="Bearer key for that service, if it wants one."
    )
