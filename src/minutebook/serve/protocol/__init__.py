"""MCP through the official SDK: tools, resources, subscriptions, sampling."""
