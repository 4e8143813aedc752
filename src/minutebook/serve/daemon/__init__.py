"""The daemon: one process that serves many stdio clients, and how clients find, start and end it."""
