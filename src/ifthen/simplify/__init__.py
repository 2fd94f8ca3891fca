"""Fewer rules: without loss, as the equivalent decision list, or fewer still for a price."""
