"""The paper's experiments: plans in, records out."""
