"""Training and testing of one network, its cost, and the timing of both methods."""
