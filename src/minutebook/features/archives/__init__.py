"""Records taken out and brought in: archives, folders of notes, tables, backups."""
