"""SDQLite: text, syntax trees, names, types, extents, and their meaning."""
