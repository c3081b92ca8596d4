"""``python -m toolbox``: the command line."""

import sys

from toolbox.cli import main

if __name__ == "__main__":
    sys.exit(main())
