"""What is to be solved: tabular tasks, the FrozenLake suite, and their exact solutions."""
