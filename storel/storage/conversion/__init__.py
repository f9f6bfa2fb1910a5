"""From one format to another without a list of entries."""
