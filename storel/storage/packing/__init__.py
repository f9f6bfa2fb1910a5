"""Arrays for entries by any mapping that can be turned round, with no format known by name."""
