"""Who calls, and what that caller may do."""

from dataclasses import dataclass

from minutebook.config.kinds import TEXT, OnOff, one_of, setting
from minutebook.domain.caller import ANYBODY
from minutebook.domain.policy import Policy
from minutebook.domain.records import Role


@dataclass(frozen=True, kw_only=True)
class CallerSettings:
    """Who calls, and what that caller may do."""

    role: Role = setting(Role.AGENT, one_of(Role), "Role of a caller over stdio.")
    agent: str = setting(ANYBODY, TEXT, "Name under which a stdio client's acts are recorded.")
    organization: str | None = setting(None, TEXT, "Hold the caller to this organization.")
    repository: str | None = setting(None, TEXT, "Hold the caller to this repository.")
    user: str | None = setting(None, TEXT, "Hold the caller to this user's and shared memories.")
    scope_from_folder: OnOff = setting(
        "off",
        one_of(OnOff),
        "`on`: what is written in a project's folder belongs to its repository, and searches there show "
        "that and what belongs to none; `minutebook where` tells. `--repository` goes before it.",
    )
    policy: Policy | None = setting(
        None,
        one_of(Policy),
        "`open` for a personal store, `governed` to protect rules and system scope; not set: "
        "`governed` once a token was made or jwt_issuer is set, else `open`.",
    )
