"""Extreme learning machines with output weights by linear discriminant analysis."""

__version__ = "0.1.0"
