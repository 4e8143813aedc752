"""Who speaks HTTP: MCP for each contract at its path, plain operations, and how the server is."""
