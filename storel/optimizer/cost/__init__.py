"""What a term takes, in nanoseconds."""
