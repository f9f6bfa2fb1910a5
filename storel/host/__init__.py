"""What the machine offers: memory, threads, files, and what was computed once on its disk."""
