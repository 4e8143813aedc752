"""What is screened, indexed and remembered of questions."""

from dataclasses import dataclass
from typing import Literal

from minutebook.config.kinds import COUNT, ROOTS, at_least, one_of, setting
from minutebook.domain.policy import Redact
from minutebook.domain.roots import NamedRoots

RecallLogMode = Literal["off", "records", "questions"]


@dataclass(frozen=True, kw_only=True)
class ContentSettings:
    """What is screened, indexed and remembered of questions."""

    redact: Redact | None = setting(
        None,
        one_of(Redact),
        "What is done about secrets (keys, tokens, passwords) in what is written: `mask` puts "
        "`[secret: KIND]` in their place before anything is kept, `warn` keeps them and says so, `off` "
        "does not look. Not set: `warn` for what is written on purpose, `mask` for what is captured "
        "(turns of sessions, their summaries, indexed code).",
    )
    index_roots: NamedRoots = setting(
        (),
        ROOTS,
        "Folders that may be indexed, with all below them; none named: all that can be read but "
        "places for secrets, and over HTTP nothing. A list is for callers without a token and for "
        '`organization` (or the default one); a table names others: `acme = ["/srv/acme"]`, or of a '
        'repository only `acme = { api = ["/srv/api"] }`. In the environment: the table as JSON.',
    )
    recall_log: RecallLogMode = setting(
        "records",
        one_of(RecallLogMode),
        "What is kept of each answered question: the `records` it got, `questions` (its text too), `off`.",
    )
    recall_log_days: float = setting(30.0, at_least(0.0), "Days after which that leaves the log.")
    recall_log_most: int = setting(
        100_000, COUNT, "Questions of an organization that are kept; beyond them the oldest leave."
    )
