"""Measure how well search finds what was asked for, how fast, and how much it returns."""
