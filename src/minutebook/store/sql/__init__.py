"""The common part of the SQL engines: the columns that keep a record."""
