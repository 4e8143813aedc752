"""Tidying: suggestions, and their outcomes."""
