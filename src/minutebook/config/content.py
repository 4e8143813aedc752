"""What is screened."""

from dataclasses import dataclass

from minutebook.config.kinds import one_of, setting
from minutebook.domain.policy import Redact


@dataclass(frozen=True, kw_only=True)
class ContentSettings:
    """What is screened."""

    redact: Redact | None = setting(
        None,
        one_of(Redact),
        "What is done about secrets (keys, tokens, passwords) in what is written: `mask` puts "
        "`[secret: KIND]` in their place before anything is kept, `warn` keeps them and says so, `off` "
        "does not look. Not set: `warn` for what is written on purpose, `mask` for what is captured "
        "(turns of sessions, their summaries, indexed code).",
    )
