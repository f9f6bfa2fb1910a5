"""Formats tried on small tensors: checked, and drawn."""
