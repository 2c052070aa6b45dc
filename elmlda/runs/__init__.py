"""A run's folder: its tables, its manifest, the arrays that it keeps, one writer at a time."""
