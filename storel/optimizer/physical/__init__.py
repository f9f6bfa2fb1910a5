"""From the cheapest term to the physical plan: every choice that a term leaves open is made here."""
