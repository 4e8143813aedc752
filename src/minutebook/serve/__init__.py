"""How a client asks: the contracts, MCP over stdio, the daemon."""
