"""The abstract syntax of SDQLite. Spans take no part in equality: equal programs compare equal."""
