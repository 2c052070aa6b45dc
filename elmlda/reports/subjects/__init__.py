"""What reports are about: for each subject its tables, figures and section."""
