"""What operators are told of the server: a log, health, figures, traces."""
