"""Secrets in what is kept: found, and replaced."""
