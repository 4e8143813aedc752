"""Who speaks MCP, so that nobody else must: the transports, the identity of callers, the clients."""
