"""Secrets in stored records: found, and replaced."""
