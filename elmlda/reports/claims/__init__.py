"""The claims of the paper: evidence from records, the rule, verdicts, and their words."""
