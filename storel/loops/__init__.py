"""The loop IR: how a physical plan becomes loops, and what loops mean."""
