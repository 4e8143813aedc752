"""Where decisions are committed, and how they are accepted and shown."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from minutebook.config import Settings
from minutebook.config.kinds import FOLDER, SECONDS, TEXT, one_of, setting

TrustedCommits = Literal["proved", "everyone"]


@dataclass(frozen=True, kw_only=True)
class LedgerSettings(Settings):
    """Where decisions are committed, and how they are accepted and shown."""

    FORMER: ClassVar[tuple[str, ...]] = ("ledgers_folder",)

    ledger: Path | None = setting(
        None,
        FOLDER,
        "Where decisions are committed: a Git repository, or a folder in one, such as "
        "PROJECT/docs/decisions; none named: a repository in the data directory.",
        owner="organization",
    )
    ledger_trust: TrustedCommits = setting(
        "proved",
        one_of(TrustedCommits),
        "Whose commits to a ledger hold: `proved` (this store's own, and those signed by a key that the "
        "person's Git settings trust; others wait as proposals), or `everyone`, for a repository to which "
        "only trusted people push.",
    )
    review_window: float = setting(
        3600.0, SECONDS, "Seconds that a proposal has to wait before it can be accepted."
    )
    agent_memory_secret: str | None = setting(
        None,
        TEXT,
        is_secret=True,
        variable="AGENT_MEMORY_SECRET",
        help="Secret without which no proposal is accepted; the first admin start pins it. "
        "Read from the variable AGENT_MEMORY_SECRET too.",
    )

    @property
    def ledgers(self) -> Path:
        """The folder of the ledgers that are not placed elsewhere."""
        return self.home / "ledgers"

    @property
    def ledger_key(self) -> Path:
        """The file with the key by which this store knows its own commits to ledgers."""
        return self.home / "ledger.key"

    @property
    def secret(self) -> Path:
        """The file with the hash of the secret."""
        return self.home / "secret"
