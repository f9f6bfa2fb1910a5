"""From a definition and its data to running code: the compiler, and what is decided before and after it."""
