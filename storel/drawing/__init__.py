"""Where the entries of a small tensor lie in memory, drawn: as text for a terminal, and as SVG."""
