"""Playing rules in a task and measuring how well they do."""
