"""The clients whose sessions run commands: where each lists them, in which form, for which events."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from minutebook.install.known_clients import Base, ClientFile

SECONDS, MILLISECONDS = 5, 5_000
"""After which a client itself ends a hook, which should have ended by itself long before."""


class Form(StrEnum):
    """How a client's file lists hooks: groups of commands an event, commands an event, or a program."""

    GROUPS = "groups"
    COMMANDS = "commands"
    PLUGIN = "plugin"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookClient(ClientFile):
    """One client with hooks by the file of these: its form, and the events for which we have one.

    `events` maps each to the time limit that stands
    beside it, in the client's unit. `named` is the client that the command names, where the file is another's too. `is_own` tells
    that nobody else's hooks are in the file. `reload` says what a person does then.
    """

    form: Form
    events: Mapping[str, int]
    named: str = ""
    is_own: bool = False

    @property
    def command_name(self) -> str:
        """The client that `minutebook hook` is told."""
        return self.named or self.name


_CLAUDE_EVENTS = dict.fromkeys(("SessionStart", "UserPromptSubmit", "SessionEnd"), SECONDS)

_COPILOT = HookClient(
    name="copilot",
    title="Copilot CLI",
    form=Form.COMMANDS,
    user=(".copilot", "hooks", "minutebook.json"),
    project=(".github", "hooks", "minutebook.json"),
    moved=("COPILOT_HOME", ("hooks", "minutebook.json")),
    is_own=True,
    events=_CLAUDE_EVENTS,
    reload="Start a new session, in a folder that you trust; VS Code reads the same file.",
    documentation="https://docs.github.com/en/copilot/reference/hooks-reference",
)

HOOKS: Mapping[str, HookClient] = {
    client.name: client
    for client in (
        HookClient(
            name="claude-code",
            title="Claude Code",
            form=Form.GROUPS,
            user=(".claude", "settings.json"),
            project=(".claude", "settings.json"),
            moved=("CLAUDE_CONFIG_DIR", ("settings.json",)),
            events=_CLAUDE_EVENTS,
            reload="Start a new session; /hooks lists them.",
            documentation="https://code.claude.com/docs/en/hooks",
        ),
        HookClient(
            name="codex",
            title="Codex",
            form=Form.GROUPS,
            user=(".codex", "hooks.json"),
            project=(".codex", "hooks.json"),
            moved=("CODEX_HOME", ("hooks.json",)),
            # Codex gives the end of a session three seconds at most, and warns of more.
            events={**_CLAUDE_EVENTS, "SessionEnd": 3},
            reload="Start Codex, type /hooks and trust the three: Codex runs none that you did not review.",
            documentation="https://developers.openai.com/codex/hooks",
        ),
        HookClient(
            name="gemini",
            title="Gemini CLI",
            form=Form.GROUPS,
            user=(".gemini", "settings.json"),
            project=(".gemini", "settings.json"),
            moved=("GEMINI_CLI_HOME", (".gemini", "settings.json")),
            events=dict.fromkeys(("SessionStart", "BeforeAgent", "SessionEnd"), MILLISECONDS),
            reload="Start a new session; /hooks panel lists them. Those of a project are warned of once, "
            "and run in trusted folders.",
            documentation="https://geminicli.com/docs/hooks/reference",
        ),
        _COPILOT,
        replace(
            _COPILOT,
            name="vscode",
            title="VS Code",
            named="copilot",
            reload="Start a new chat; /hooks lists them. Copilot CLI reads the same file. Agents of Claude and "
            "Codex in VS Code run the hooks of those clients.",
            documentation="https://code.visualstudio.com/docs/agent-customization/hooks",
        ),
        HookClient(
            name="cursor",
            title="Cursor",
            form=Form.COMMANDS,
            user=(".cursor", "hooks.json"),
            project=(".cursor", "hooks.json"),
            events=dict.fromkeys(("sessionStart", "beforeSubmitPrompt"), SECONDS),
            reload="Open a new chat; the Hooks tab of Cursor's settings lists them.",
            documentation="https://cursor.com/docs/hooks",
        ),
        HookClient(
            name="opencode",
            title="OpenCode",
            form=Form.PLUGIN,
            base=Base.CONFIGURATION,
            user=("opencode", "plugins", "minutebook.js"),
            project=(".opencode", "plugins", "minutebook.js"),
            is_own=True,
            events={},
            reload="Restart OpenCode.",
            documentation="https://opencode.ai/docs/plugins/",
        ),
    )
}
"""The clients that have hooks we know how to enter."""
