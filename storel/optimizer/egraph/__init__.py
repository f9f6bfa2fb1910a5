"""Equality saturation, and the best term that comes out of it."""
