"""One network, from data to result."""
