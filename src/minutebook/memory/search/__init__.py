"""Searches over memories, code, decisions and sessions: one gather of signals, fused."""
