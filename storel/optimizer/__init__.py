"""Terms to cheaper terms to physical plans."""
