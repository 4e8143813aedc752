"""Entries of the trail, fingerprints of records, and the doors: which records may be told unasked, or as rules."""
