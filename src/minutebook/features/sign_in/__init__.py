"""Signing in at a provider."""
