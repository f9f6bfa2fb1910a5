"""Orders of joins, eliminations and products, found without an e-graph."""
