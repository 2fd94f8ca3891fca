"""PPL-X: learns action values first and rules second, and returns a front of lists from short to good.

The systems of the paper search blindly. Action values say where a list loses and what it should do there, so
that few episodes and few candidates suffice.
"""
