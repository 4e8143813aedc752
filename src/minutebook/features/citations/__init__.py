"""Records that cite code, judged against the code as it is."""
