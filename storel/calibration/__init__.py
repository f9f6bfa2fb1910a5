"""Fits the constants of the cost model to what programs take on this machine."""
