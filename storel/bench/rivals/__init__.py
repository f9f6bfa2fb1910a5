"""The libraries that storel is timed beside: a module for each kind, and a table of all."""
