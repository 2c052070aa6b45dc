"""Entry point of the command `elmlda` and of `python -m elmlda`."""

from __future__ import annotations

import sys

from elmlda import stop


def main() -> None:
    """Run the command line."""
    stop.listen()  # before the imports below, which take a moment
    try:
        from elmlda.cli import main as run

        exit_code = run()
        stop.ignore()
    except KeyboardInterrupt:
        exit_code = stop.wait_for_exit_code()
    sys.exit(exit_code)


if __name__ == "__main__":
    main()
