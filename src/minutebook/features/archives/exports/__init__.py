"""Folders of notes, tables and graphs that others read."""
