"""The features: each folder enters the core by the register in its `feature.py`, and by nothing else."""
