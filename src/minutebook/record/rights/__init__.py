"""Rights that a token or a setting grants: repositories, folders, secrets shown."""
