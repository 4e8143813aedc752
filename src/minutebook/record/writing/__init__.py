"""Drafts become records: their scopes, validity, lineage and limits."""
