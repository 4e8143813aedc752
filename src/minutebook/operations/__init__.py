"""Operations: the calls of a command, or a program, on a store, wherever that is open."""
