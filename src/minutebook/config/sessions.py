"""Which service summarises sessions."""

from dataclasses import dataclass

from minutebook.config.kinds import TEXT, setting


@dataclass(frozen=True, kw_only=True)
class SessionSettings:
    """Which service summarises sessions."""

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
