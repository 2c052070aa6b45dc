"""Stored records in; what people look at out. Nothing here computes a network."""
