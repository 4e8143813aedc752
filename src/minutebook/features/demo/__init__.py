"""The work of Minutebook, shown on a store of its own."""
