"""Tuning: the most promising ways to compute a program, measured, and the fastest one remembered."""
