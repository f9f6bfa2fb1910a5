"""Scripts and compiled definitions, run: data comes in, kernels are called, results go out."""
