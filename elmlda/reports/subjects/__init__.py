"""The subjects of reports: each has its tables, figures and section."""
