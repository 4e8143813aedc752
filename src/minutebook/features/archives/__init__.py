"""Exports and imports of records: archives, folders of notes, tables, backups."""
