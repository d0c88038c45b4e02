"""``python -m seatrials``, the same as the command ``seatrials``."""

import sys

from seatrials.cli import main

if __name__ == "__main__":
    sys.exit(main())
