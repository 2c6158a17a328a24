"""Code for the actions that the table's `sem` does not say: a file for each effect (see `body` and `table`)."""
