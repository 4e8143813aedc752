"""Synchronization of a folder of notes with the store."""
