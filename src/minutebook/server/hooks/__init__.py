"""Hooks: events of clients' sessions, the answers, the captured records, and the log of them."""
