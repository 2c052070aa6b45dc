"""Speed: against the machine's limit, and against other libraries."""
