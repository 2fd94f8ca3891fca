"""One run: its settings, its folder and its report; rules from a teacher, and from a log."""
