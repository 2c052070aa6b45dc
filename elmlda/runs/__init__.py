"""A run's folder: records, manifest, posteriors."""
