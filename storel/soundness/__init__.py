"""Whether rewrite rules keep the value: random instances of them, rewritten in the e-graph and evaluated."""
