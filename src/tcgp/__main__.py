"""``python -m tcgp``: the command line."""

import sys

from tcgp.cli import main

if __name__ == "__main__":
    sys.exit(main())
