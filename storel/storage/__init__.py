"""Storage mappings, and the data that lies in memory as they say."""
