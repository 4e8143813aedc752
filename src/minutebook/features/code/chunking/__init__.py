"""Read the files of a project and cut them into chunks; pure of services and store."""
