"""One client over pipes: the thin proxy, the transport of lines, the server in the same process."""
