"""Exact answers about boxes in bounded spaces, of integer and real features alike, without sampling."""
