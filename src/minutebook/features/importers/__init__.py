"""Imports of other programs' records."""
