"""The HTTP server: MCP for each contract at its path, plain operations, and its health."""
