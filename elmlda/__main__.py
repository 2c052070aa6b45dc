"""Entry point of the command `elmlda` and of `python -m elmlda`."""

from __future__ import annotations

import sys

from elmlda import stop


def main() -> None:
    """Run the command line."""
    stop.listen()  # before the imports below, which take a moment
    from elmlda.cli import main as run

    sys.exit(run())


if __name__ == "__main__":
    main()
