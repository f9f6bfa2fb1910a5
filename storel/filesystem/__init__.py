"""What the file system is asked for: paths, texts, and files written as a whole or not at all."""
