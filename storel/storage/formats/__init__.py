"""Storage formats: their declarations, how they are found, and what is read off their mappings."""
