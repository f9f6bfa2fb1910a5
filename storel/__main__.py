"""``python -m storel`` is the command line."""

from storel.cli import main

if __name__ == "__main__":
    main()
