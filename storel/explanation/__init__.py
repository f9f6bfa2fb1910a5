"""What became of a program, and what it does when it runs: for people, programs, browsers and Graphviz."""
