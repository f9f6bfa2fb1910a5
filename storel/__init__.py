"""storel: a compiler and cost-based optimizer for tensor programs over declarative storage."""
