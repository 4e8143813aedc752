"""Memories, their versions and links, and the graph of entities."""
