"""Hooks: events of clients' sessions, what is answered, what is kept, and the log of them."""
