"""Storage of records: the protocol of engines, and a folder for each engine."""
