"""What Minutebook does, shown on a store of its own."""
