"""Copies of the whole store: made, kept up, and brought back."""
