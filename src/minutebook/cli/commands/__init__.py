"""The commands of the core, a module a subject."""
