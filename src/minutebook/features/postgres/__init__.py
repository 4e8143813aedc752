"""The records in a PostgreSQL database, on one server or a cluster."""
