"""What a command, or a program, asks of a store, wherever that is open: a table of functions."""
