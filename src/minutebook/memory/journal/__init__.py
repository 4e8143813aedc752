"""Turns, sessions and their summaries."""
