"""What is to be solved: the contract of a task, tables, environments, and exact solutions."""
