"""The shortest decision list for a table of allowed actions, and whether a shorter one exists."""
