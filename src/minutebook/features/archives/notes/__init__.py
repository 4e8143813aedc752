"""A folder of notes kept in step with the store."""
