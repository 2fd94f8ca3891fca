"""Tuning: the search for parameters of a system that suit a task."""
