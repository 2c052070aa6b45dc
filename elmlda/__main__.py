"""Entry point of the command `elmlda` and of `python -m elmlda`."""

from __future__ import annotations

import signal
import sys

from elmlda import stop


def main() -> None:
    """Run the command line."""
    stop.listen()  # before the imports below, which take a moment
    from elmlda.cli import main as run

    exit_code = run()
    for number in stop.SIGNALS:  # while Python ends they would look like a failure
        signal.signal(number, signal.SIG_IGN)
    sys.exit(exit_code)


if __name__ == "__main__":
    main()
