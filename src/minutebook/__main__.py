"""Run `python -m minutebook`."""

from minutebook.cli import main

main()
