"""Decisions and proposals, recorded in Git and in the store."""
