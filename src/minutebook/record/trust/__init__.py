"""Entries of the trail, fingerprints of records, and through which door a record is told."""
