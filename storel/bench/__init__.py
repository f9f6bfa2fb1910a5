"""Times beside other libraries: kernels × data × rivals, one interleaved run, answers compared."""
