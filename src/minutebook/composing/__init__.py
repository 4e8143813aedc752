"""Which collaborators each service gets, subject by subject."""
