"""Decisions as commits: what they look like in a file, and how they come into Git and back."""
