"""Loop IR to source text: C, and Python for Numba."""
