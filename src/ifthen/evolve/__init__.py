"""Genetic operators on populations kept as arrays."""
