"""What is true of memories, decisions, time and trust, with no clock, disk, network or SQL."""
