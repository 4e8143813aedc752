"""A memory as other libraries for agents want one; each module needs the extra of its name."""
