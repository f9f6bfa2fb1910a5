"""The physical plan: a term with every choice made."""
