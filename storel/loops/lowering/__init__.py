"""Physical plans become kernels."""
