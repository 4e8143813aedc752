"""The protocols of contracts over HTTP: MCP, plain operations and their OpenAPI document."""
