"""The paper's experiments: options, a plan for some data, and functions that compute."""
