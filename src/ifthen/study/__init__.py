"""Running systems and showing how they did."""
