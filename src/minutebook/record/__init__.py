"""Rules about memories, decisions, time and trust, with no clock, disk, network or SQL."""
