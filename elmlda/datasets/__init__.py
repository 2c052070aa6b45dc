"""Data sets by name, or the user's own: CSV, NPZ and IDX files, DataFrames and arrays."""
