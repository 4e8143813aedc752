"""What other programs kept, brought in."""
