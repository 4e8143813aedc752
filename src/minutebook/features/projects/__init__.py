"""To which project a folder belongs, and records moved to the projects that they are about."""
