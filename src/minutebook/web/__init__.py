"""Web pages, where a person reads, corrects and answers for the records."""
