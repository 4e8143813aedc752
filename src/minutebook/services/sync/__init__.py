"""Keep a store in step: with the stores of other machines, and with a folder of notes."""
