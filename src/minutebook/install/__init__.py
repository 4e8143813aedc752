"""Entries for Minutebook in the configuration of MCP clients."""
