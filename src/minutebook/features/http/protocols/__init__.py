"""How contracts are served over HTTP: MCP, its older streams, plain operations and their OpenAPI document."""
