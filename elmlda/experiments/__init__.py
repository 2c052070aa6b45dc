"""The paper's experiments: options in, rows out."""
