"""The MCP clients that are known: where each keeps its servers, in which form, by its own documentation."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from minutebook.install.config_edits import Format, Value


class Base(StrEnum):
    """What a client's path starts from: the home, or where applications keep their settings."""

    HOME = "home"
    APPLICATIONS = "applications"
    CONFIGURATION = "configuration"
    """`~/.config`, or XDG_CONFIG_HOME, on every platform."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """How an entry names a program to start: its keys, and what else the client wants there.

    Where `arguments` is None the command is one list with its arguments.
    """

    command: str = "command"
    arguments: str | None = "args"
    environment: str = "env"
    also: Mapping[str, Value] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """How an entry names a server by its URL.

    `variable` writes a variable within a header, `{}` being its name; None where the client reads
    none there. `token_variable` is the key that takes a variable's name instead.
    """

    url: str = "url"
    variable: str | None = None
    token_variable: str | None = None
    also: Mapping[str, Value] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFile:
    """A file of a client: where it is for a user and in a project, and what makes the client read it again.

    `user` is the path below `base`, None where there is no such file that can be edited; `project` the path
    below the working directory. `on_windows` is the user's path there if it differs. `moved` is the variable
    that puts the user's file elsewhere, and its path from there. `package` matches the folder of a packaged
    Windows application, which sees a settings folder of its own. `documentation` says where all this stands.
    """

    name: str
    title: str
    user: tuple[str, ...] | None
    reload: str
    documentation: str
    base: Base = Base.HOME
    on_windows: tuple[str, ...] | None = None
    moved: tuple[str, tuple[str, ...]] | None = None
    package: str | None = None
    project: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Client(ClientFile):
    """One MCP client by the file of its servers: in which form that is, and how it notices a change.

    `remote` is None for a client whose file takes no remote server. `names_entry` has the entry repeat
    its name.
    """

    format: Format = Format.JSONC
    section: str = "mcpServers"
    local: Local = Local()
    remote: Remote | None = None
    project_reload: str = ""
    names_entry: bool = False


_TYPED = Local(also={"type": "stdio"})

CLIENTS: Mapping[str, Client] = {
    client.name: client
    for client in (
        Client(
            name="claude-code",
            title="Claude Code",
            format=Format.JSON,
            local=_TYPED,
            remote=Remote(variable="${{{}}}", also={"type": "http"}),
            user=(".claude.json",),
            moved=("CLAUDE_CONFIG_DIR", (".claude.json",)),
            project=(".mcp.json",),
            reload="Start a new session; /mcp shows the connection.",
            project_reload="Start a new session in this project and approve the server when asked.",
            documentation="https://code.claude.com/docs/en/mcp",
        ),
        Client(
            name="claude-desktop",
            title="Claude Desktop",
            format=Format.JSON,
            base=Base.APPLICATIONS,
            user=("Claude", "claude_desktop_config.json"),
            package="Claude_*",
            reload="Quit Claude Desktop (closing the window is not enough) and start it again.",
            documentation="https://modelcontextprotocol.io/docs/develop/connect-local-servers",
        ),
        Client(
            name="cursor",
            title="Cursor",
            local=_TYPED,
            remote=Remote(variable="${{env:{}}}"),
            user=(".cursor", "mcp.json"),
            project=(".cursor", "mcp.json"),
            reload="Switch the server on in Cursor's settings under Tools & MCP, or restart Cursor.",
            documentation="https://cursor.com/docs/mcp",
        ),
        Client(
            name="vscode",
            title="VS Code",
            section="servers",
            local=_TYPED,
            remote=Remote(variable="${{env:{}}}", also={"type": "http"}),
            base=Base.APPLICATIONS,
            user=("Code", "User", "mcp.json"),
            project=(".vscode", "mcp.json"),
            reload="Run “MCP: List Servers” from the command palette, start the server and trust it.",
            documentation="https://code.visualstudio.com/docs/copilot/reference/mcp-configuration",
        ),
        Client(
            name="gemini",
            title="Gemini CLI",
            remote=Remote(url="httpUrl", variable="${{{}}}"),
            user=(".gemini", "settings.json"),
            moved=("GEMINI_CLI_HOME", (".gemini", "settings.json")),
            project=(".gemini", "settings.json"),
            reload="Restart Gemini CLI in a trusted folder (it starts no servers in others).",
            documentation="https://geminicli.com/docs/tools/mcp-server",
        ),
        Client(
            name="codex",
            title="Codex",
            format=Format.TOML,
            section="mcp_servers",
            remote=Remote(token_variable="bearer_token_env_var"),  # noqa: S106 - the key's name
            user=(".codex", "config.toml"),
            moved=("CODEX_HOME", ("config.toml",)),
            project=(".codex", "config.toml"),
            reload="Start a new session; /mcp shows the connection.",
            project_reload="Start a new session; Codex reads this file in trusted projects only.",
            documentation="https://developers.openai.com/codex/mcp",
        ),
        Client(
            name="copilot",
            title="Copilot CLI",
            local=Local(also={"type": "local", "tools": ["*"]}),
            remote=Remote(also={"type": "http", "tools": ["*"]}),
            user=(".copilot", "mcp-config.json"),
            project=(".github", "mcp.json"),
            reload="Start a new session; /mcp show lists the servers.",
            project_reload="Start a new session in this folder and trust it; /mcp show lists the servers.",
            documentation="https://docs.github.com/en/copilot/how-tos/copilot-cli/"
            "customize-copilot/add-mcp-servers",
        ),
        Client(
            name="windsurf",
            title="Windsurf",
            remote=Remote(url="serverUrl", variable="${{env:{}}}"),
            user=(".codeium", "windsurf", "mcp_config.json"),
            reload="Press the refresh button among the MCP servers of Cascade, or restart Windsurf.",
            documentation="https://docs.windsurf.com/windsurf/cascade/mcp",
        ),
        Client(
            name="zed",
            title="Zed",
            section="context_servers",
            remote=Remote(),
            base=Base.CONFIGURATION,
            user=("zed", "settings.json"),
            on_windows=("Zed", "settings.json"),
            reload="Open the settings of the Agent Panel; a green dot shows that the server runs.",
            documentation="https://zed.dev/docs/ai/mcp",
        ),
        Client(
            name="cline",
            title="Cline",
            remote=Remote(also={"type": "streamableHttp"}),
            user=(".cline", "data", "settings", "cline_mcp_settings.json"),
            moved=("CLINE_MCP_SETTINGS_PATH", ()),
            reload="Open Cline's MCP servers; restart the server there if it does not connect.",
            documentation="https://docs.cline.bot/mcp/mcp-overview",
        ),
        Client(
            name="roo",
            title="Roo Code",
            remote=Remote(also={"type": "streamable-http"}),
            base=Base.APPLICATIONS,
            user=(
                *("Code", "User", "globalStorage", "rooveterinaryinc.roo-cline"),
                *("settings", "mcp_settings.json"),
            ),
            project=(".roo", "mcp.json"),
            reload="Open Roo Code's MCP servers; restart the server there if it does not connect.",
            documentation="https://docs.roocode.com/features/mcp/using-mcp-in-roo",
        ),
        Client(
            name="continue",
            title="Continue",
            user=None,
            project=(".continue", "mcpServers", "mcp.json"),
            reload="Reload the window; Continue offers the tools in its agent mode.",
            documentation="https://docs.continue.dev/customize/deep-dives/mcp",
        ),
        Client(
            name="opencode",
            title="OpenCode",
            section="mcp",
            local=Local(
                arguments=None, environment="environment", also={"type": "local", "enabled": True}
            ),
            remote=Remote(
                variable="{{env:{}}}", also={"type": "remote", "enabled": True, "oauth": False}
            ),
            base=Base.CONFIGURATION,
            user=("opencode", "opencode.json"),
            project=("opencode.json",),
            reload="Restart OpenCode; `opencode mcp list` shows the connection.",
            documentation="https://opencode.ai/docs/mcp-servers/",
        ),
        Client(
            name="goose",
            title="Goose",
            format=Format.YAML,
            section="extensions",
            local=Local(command="cmd", environment="envs", also={"type": "stdio", "enabled": True}),
            remote=Remote(url="uri", also={"type": "streamable_http", "enabled": True}),
            names_entry=True,
            base=Base.CONFIGURATION,
            user=("goose", "config.yaml"),
            on_windows=("Block", "goose", "config", "config.yaml"),
            reload="Start a new session; `goose info -v` shows the extensions.",
            documentation="https://goose-docs.ai/docs/guides/config-files",
        ),
        Client(
            name="junie",
            title="Junie (JetBrains)",
            user=(".junie", "mcp", "mcp.json"),
            project=(".junie", "mcp", "mcp.json"),
            reload="Open the IDE's settings, Tools, Junie, MCP Settings, and switch the server on.",
            documentation="https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html",
        ),
        Client(
            name="kiro",
            title="Kiro",
            remote=Remote(variable="${{{}}}"),
            user=(".kiro", "settings", "mcp.json"),
            project=(".kiro", "settings", "mcp.json"),
            reload="Saving is enough; the panel of MCP servers shows the connection. "
            "Kiro asks before it reads a variable.",
            documentation="https://kiro.dev/docs/mcp/configuration",
        ),
        Client(
            name="amp",
            title="Amp",
            section="amp.mcpServers",
            remote=Remote(variable="${{{}}}"),
            user=(".config", "amp", "settings.json"),
            project=(".amp", "settings.json"),
            reload="Restart Amp; `amp mcp list` shows the servers.",
            project_reload="Restart Amp; `amp mcp approve` lets a project's server start.",
            documentation="https://ampcode.com/manual",
        ),
    )
}
