"""Unasked briefs for clients, and sessions that are captured."""

HOOK_WAIT = 0.25
"""The default of the setting `hook_wait`, in seconds: less than a person notices."""
