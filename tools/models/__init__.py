"""Derives the files of the built-in models from the packages that carry their weights."""
