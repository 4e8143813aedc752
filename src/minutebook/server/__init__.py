"""The MCP server: the transports, the identity of callers, the clients."""
