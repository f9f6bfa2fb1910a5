"""Source text to running code: compilers, caches, buffers, calls."""
