"""What was promised, to whom? One folder a contract: the promise as data, the answers as code."""
