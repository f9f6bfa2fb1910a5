"""Entries → arrays, by any mapping that can be turned round: packing is derived from it."""
