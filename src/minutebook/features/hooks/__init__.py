"""What clients are told without their asking, and sessions that are captured."""
