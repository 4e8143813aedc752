"""The rules of tidying, on texts and names alone. Pure: no store, no clock, no model."""
