"""Unasked briefs for clients, and sessions that are captured."""
