"""A run's folder: manifest, rows, kept files, one writer at a time."""
