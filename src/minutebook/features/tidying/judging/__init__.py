"""What is to be tidied, told from texts and names alone. Pure: no store, no clock, no model."""
