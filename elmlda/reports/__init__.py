"""Tables, figures and pages from stored records. Nothing here trains a network."""
