"""Measures of how well search finds the relevant records."""
