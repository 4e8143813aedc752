"""How the process runs and what it logs."""

from dataclasses import dataclass
from typing import Literal

from minutebook.config.kinds import SECONDS, OnOff, one_of, setting
from minutebook.invocation import DAEMON_WAIT

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]


@dataclass(frozen=True, kw_only=True)
class ProcessSettings:
    """How the process runs and what it logs."""

    daemon: OnOff = setting(
        "on",
        one_of(OnOff),
        "`on`: stdio clients share a process in the background, which is started when the first "
        "comes; `off`: each is served by a process of its own.",
    )
    daemon_idle: float = setting(
        600.0, SECONDS, "Seconds without any client after which that process ends."
    )
    daemon_wait: float = setting(
        float(DAEMON_WAIT),
        SECONDS,
        "Seconds (1 to 3600) to wait for that process if it lives and does not answer; then the "
        "client is served by a process of its own.",
    )
    log_level: LogLevel | None = setting(
        None,
        one_of(LogLevel),
        "Least level of log lines: `debug` (with the stack trace of each error), `info` (a line for "
        "each call), `warning` or `error`. Not set: `info` in the daemon's log, else `warning`.",
    )
    log_format: LogFormat = setting(
        "text", one_of(LogFormat), "`text`, or `json`: one object a line, for machines."
    )
