"""Decisions as commits: their form in a file, and their ways into Git and back."""
