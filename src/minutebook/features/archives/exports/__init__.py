"""Exports for other programs: folders of notes, tables, and graphs."""
