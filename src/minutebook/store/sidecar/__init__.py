"""Indices of vectors and words in memory-mapped files beside the records, from which they can be made anew."""
