"""One run: its settings, its folder and its report."""
