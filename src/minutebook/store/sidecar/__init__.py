"""An index of vectors in files beside the records: derived, memory-mapped, made anew at will."""
