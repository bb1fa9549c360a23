"""Makes ``python -m timeloom.cli`` the same as ``timeloom``."""

import sys

from timeloom.cli import main

if __name__ == "__main__":
    sys.exit(main())
