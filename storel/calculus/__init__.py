"""The De Bruijn calculus: program and storage composed into one expression."""
