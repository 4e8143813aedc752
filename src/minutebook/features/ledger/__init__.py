"""Decisions and proposals, kept as commits in Git."""
