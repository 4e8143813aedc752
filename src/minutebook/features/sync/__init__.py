"""Several machines kept in step."""
