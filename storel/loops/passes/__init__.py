"""Passes over kernels: each keeps the meaning, and makes them faster."""
