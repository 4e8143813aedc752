"""What clients are served."""

from dataclasses import dataclass
from typing import Literal

from minutebook.config.kinds import SWITCH, TEXT, one_of, separated, setting
from minutebook.domain.reason import Reason

ToolNames = Literal["contract", "safe"]


@dataclass(frozen=True, kw_only=True)
class ClientSettings:
    """What clients are served."""

    contract: str | None = setting(
        None,
        TEXT,
        "Contract that `serve` serves over stdio, and `export-schema` prints, where none is named; "
        "not set: `serve` takes knowledge, `export-schema` asks.",
    )
    tool_names: ToolNames = setting(
        "contract",
        one_of(ToolNames),
        "`contract`: tools are listed under the names their contract gives; `safe`: with letters, "
        "digits and underscores only, for clients that refuse others. Calls may use both.",
    )
    read_only: bool = setting(
        False,  # noqa: FBT003
        SWITCH,
        "`true`: clients are served only the tools that read; the others are neither listed nor called.",
    )
    tools: tuple[str, ...] = setting(
        (),
        separated(",", Reason("a list of names")),
        "The tools that clients are served, separated by commas; not set: all of the contract.",
    )
