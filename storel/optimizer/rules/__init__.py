"""Rewrite rules: their text, what their guards ask, and how they match terms."""
